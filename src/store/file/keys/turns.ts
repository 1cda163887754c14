/**
 * Whose turn it is (`core/keys`). One process writes at a time, so that every call that changes what a key has waiting or running
 * says so (`touch`), and at the end of the call the first message of each such key is chosen anew, in the same transaction:
 *
 *   put, settle, remove, reschedule, revive, restore, claim ──touch(topic, key)──► refresh: the first of each priority
 *                                                                                    │ may be handed out, now or by the clock
 *                                                                                    ├─► in the line of the topic (turn.next_at)
 *                                                                                    │ its rate is spent
 *                                                                                    ├─► comes back then (used_rate.opens_at)
 *                                                                                    │ as many run as may, or a retry holds it
 *                                                                                    └─► out of the line, until it is touched
 *
 * A place in the line may be too early, after a limit was lowered; it is never too late. So a claim looks again at what it hands
 * out (`TurnLine`), and what is held back is never looked at. After a limit was changed, claims go over the keys that are held
 * back, so many at a time (`advance`).
 *
 * Cost: for each key that is touched some ten looks, however many messages and keys there are.
 */
import { Meter } from '../../../core/controls.ts'
import { FRESH_TURN, enteredTurn, isSerial, type KeyTerms, type KeyTurn } from '../../../core/keys.ts'
import { PRIORITIES, type PriorityRank } from '../../../core/message.ts'
import type { TopicRow } from '../database/ledger.ts'
import type { LedgerScene } from '../verbs/scene.ts'
import { firstMoment } from './moments.ts'
import { FileKeyRules } from './rules.ts'

/** How many keys one claim looks at after a limit has changed, or whose rates have come round. */
const SWEEP_MAX = 500
/** How many rates that have recovered leave with one claim. */
const PRUNED_MAX = 1_000

export const RANKS = [...PRIORITIES.keys()] as readonly PriorityRank[]

const TURNS = 'SELECT priority, served_at, used, seq, due_at, next_at FROM turn WHERE topic = ? AND key = ?'
const FIRST = `SELECT seq, due_at, priority FROM place INDEXED BY place_line
  WHERE state = 0 AND topic = ? AND key = ? AND priority = ? ORDER BY due_at, seq LIMIT 1`
const HOLDER = `SELECT seq, due_at, priority FROM place INDEXED BY place_holding
  WHERE is_holding = 1 AND topic = ? AND key = ? ORDER BY due_at, seq LIMIT 1`
const RUNNING = `SELECT count(*) AS n FROM (SELECT 1 FROM place INDEXED BY place_running
  WHERE state = 1 AND topic = ? AND key = ? LIMIT ?)`
const RUNS = 'SELECT 1 FROM place INDEXED BY place_running WHERE state = 1 AND topic = ? AND key = ? LIMIT 1'
const SET_TURN = `INSERT INTO turn (topic, key, priority, served_at, used, seq, due_at, next_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (topic, key, priority) DO UPDATE SET served_at = excluded.served_at, used = excluded.used, seq = excluded.seq,
    due_at = excluded.due_at, next_at = excluded.next_at`
const DROP_TURN = 'DELETE FROM turn WHERE topic = ? AND key = ? AND priority = ?'
const RATE = 'SELECT filled_at FROM used_rate WHERE topic = ? AND key = ?'
const SET_RATE = 'INSERT OR REPLACE INTO used_rate (topic, key, filled_at, opens_at) VALUES (?, ?, ?, ?)'
const DROP_RATE = 'DELETE FROM used_rate WHERE topic = ? AND key = ?'
const OPENED = `SELECT key FROM used_rate INDEXED BY used_rate_opens
  WHERE opens_at IS NOT NULL AND topic = ? AND opens_at <= ? LIMIT ${SWEEP_MAX}`
const OPEN = `UPDATE used_rate SET opens_at = NULL WHERE topic = ? AND key IN (SELECT value FROM json_each(?))`
const SWEEP = 'SELECT sweep FROM keyed_topic WHERE topic = ?'
const SET_SWEEP = 'UPDATE keyed_topic SET sweep = ? WHERE topic = ?'
/** Of those that a retry holds, that retry may stand in the line. */
const HELD = `SELECT * FROM (SELECT DISTINCT key FROM turn INDEXED BY turn_held
    WHERE next_at IS NULL AND topic = ?1 AND key > ?2 ORDER BY key LIMIT ${SWEEP_MAX})
  UNION SELECT * FROM (SELECT DISTINCT key FROM place INDEXED BY place_holding
    WHERE is_holding = 1 AND topic = ?1 AND key > ?2 ORDER BY key LIMIT ${SWEEP_MAX}) ORDER BY key LIMIT ${SWEEP_MAX}`
const PRUNE = `DELETE FROM used_rate WHERE topic = ? AND key IN (SELECT key FROM used_rate INDEXED BY used_rate_over
  WHERE opens_at IS NULL AND topic = ? AND filled_at <= ? LIMIT ${PRUNED_MAX})`
const IS_ANY = `SELECT EXISTS (SELECT 1 FROM turn WHERE topic = ?1) OR EXISTS (SELECT 1 FROM used_rate WHERE topic = ?1) AS isAny`

type KeptTurn = {
  readonly priority: PriorityRank
  readonly served_at: number
  readonly used: number
  readonly seq: number
  readonly due_at: number
  readonly next_at: number | null
}

/** The first message of a key and priority. */
export type KeyHead = { readonly seq: number; readonly due_at: number; readonly priority: PriorityRank }

/** Of a priority of which nothing waits, while something else of the key is there: it keeps its turn. */
const NOTHING_WAITS = { seq: 0, due_at: 0 }

/** A key as a claim serves it. */
export type KeyInHand = {
  readonly key: string
  readonly terms: KeyTerms
  readonly meter: Meter | undefined
  /** How many more of it may run. */
  room: number
  /** The retry that holds it. */
  readonly holder: KeyHead | undefined
  readonly turns: Map<PriorityRank, KeyTurn>
}

/** For the time of one call. */
export class KeyTurns {
  readonly #scene: LedgerScene
  readonly rules: FileKeyRules
  /** By topic. */
  readonly #touched = new Map<number, Set<string>>()
  readonly #inHand = new Map<string, KeyInHand>()
  readonly #back = new Set<string>()
  /** The only owner that gave something back, if nothing else was changed. */
  #giver: string | undefined | null = null

  constructor(scene: LedgerScene) {
    this.#scene = scene
    this.rules = new FileKeyRules(scene)
  }

  /** What ran waits again: its key keeps its turn. */
  putBack(topic: number, key: string, giver?: string): void {
    this.#back.add(`${topic} ${key}`)
    this.touch(topic, key, giver)
  }

  /** Something of this key has changed. `giver`: its owner gave it back, and need not be woken. */
  touch(topic: number, key: string, giver?: string): void {
    this.#giver = this.#giver === null || this.#giver === giver ? giver : undefined
    const keys = this.#touched.get(topic)
    if (keys === undefined) this.#touched.set(topic, new Set([key]))
    else keys.add(key)
  }

  isSerial(topic: number, key: string): boolean {
    return isSerial(this.rules.termsOf(this.#scene.ledger.topicNumbered(topic).name, key))
  }

  /** Chooses anew what stands first of every key that was touched, and wakes who sleeps longer than that. */
  flush(): void {
    for (const [topic, keys] of this.#touched) {
      const row = this.#scene.ledger.topicNumbered(topic)
      const before = firstMoment(this.#scene, row, this.#scene.now)
      for (const key of keys) this.#refresh(row, key)
      this.#keepTopic(row)
      const isSooner = firstMoment(this.#scene, row, this.#scene.now) < before
      if (isSooner) this.#scene.ledger.wakeForKey(this.#scene.queueName, this.#giver ?? undefined)
    }
    this.#touched.clear()
    this.#inHand.clear()
    this.#back.clear()
    this.#giver = null
  }

  /** Every key that is held back hears of new limits, with the next claims. */
  sweep(topic: number): void {
    this.#scene.db.run(SET_SWEEP, '', topic)
  }

  /** Moves on keys whose rates have come round, and those that a changed limit may let go on. False: there are more. */
  advance({ topic }: TopicRow): boolean {
    const { db, now } = this.#scene
    const opened = db.all<{ key: string }>(OPENED, topic, now)
    if (opened.length > 0) db.run(OPEN, topic, JSON.stringify(opened.map(({ key }) => key)))
    for (const { key } of opened) this.touch(topic, key)
    const isSwept = this.#sweepOn(topic)
    if (db.run(PRUNE, topic, topic, now) > 0) this.#keepTopic(this.#scene.ledger.topicNumbered(topic))
    this.flush()
    return isSwept && opened.length < SWEEP_MAX
  }

  #sweepOn(topic: number): boolean {
    const { db } = this.#scene
    const sweep = db.get<{ sweep: string | null }>(SWEEP, topic)?.sweep ?? null
    if (sweep === null) return true
    const held = db.all<{ key: string }>(HELD, topic, sweep)
    for (const { key } of held) this.touch(topic, key)
    const isLast = held.length < SWEEP_MAX
    db.run(SET_SWEEP, isLast ? null : (held.at(-1)?.key ?? null), topic)
    return isLast
  }

  /** As a claim finds it, and serves it. */
  inHand(topic: TopicRow, key: string): KeyInHand {
    const alias = `${topic.topic} ${key}`
    const known = this.#inHand.get(alias)
    if (known !== undefined) return known
    const terms = this.rules.termsOf(topic.name, key)
    const turns = this.#turnsOf(topic.topic, key).map(
      ({ priority, served_at: servedAt, used }) => [priority, { servedAt, used }] as const,
    )
    const made: KeyInHand = {
      key,
      terms,
      meter: this.#meterOf(topic.topic, key, terms),
      room: (terms.concurrency ?? Infinity) - this.#running(topic.topic, key, terms),
      holder: this.#holderOf(topic.topic, key, terms),
      turns: new Map(turns),
    }
    this.#inHand.set(alias, made)
    return made
  }

  #refresh({ topic, name }: TopicRow, key: string): void {
    const { db, now } = this.#scene
    const served = this.#inHand.get(`${topic} ${key}`)
    const terms = served?.terms ?? this.rules.termsOf(name, key)
    const meter = served === undefined ? this.#meterOf(topic, key, terms) : served.meter
    const opensAt = meter === undefined ? 0 : Math.ceil(meter.againAt)
    const holder = this.#holderOf(topic, key, terms)
    const isFull = this.#running(topic, key, terms) >= (terms.concurrency ?? Infinity)
    const rows = new Map(this.#turnsOf(topic, key).map((row) => [row.priority, row]))
    const firsts = RANKS.map((rank) => db.get<KeyHead>(FIRST, topic, key, rank))
    const isWaiting = firsts.some((first) => first !== undefined)
    const isThere = isWaiting || db.get(RUNS, topic, key) !== undefined
    const isNew = rows.size === 0 && served === undefined && !this.#back.has(`${topic} ${key}`)
    for (const [rank, first] of firsts.entries()) {
      const row = rows.get(rank as PriorityRank)
      if (!isThere && row !== undefined) db.run(DROP_TURN, topic, key, rank)
      if (!isThere || (first === undefined && row === undefined)) continue
      const isHeld = holder !== undefined && holder.priority !== rank
      const head = (holder === undefined || isHeld ? first : holder) ?? NOTHING_WAITS
      const entered = isNew ? enteredTurn(head.due_at, now) : FRESH_TURN
      const { servedAt, used } = served?.turns.get(rank as PriorityRank) ?? turnOf(row) ?? entered
      const isOut = first === undefined || isFull || isHeld || opensAt > now
      const nextAt = isOut ? null : Math.max(head.due_at, servedAt)
      if (!isSame(row, { servedAt, used }, head, nextAt))
        db.run(SET_TURN, topic, key, rank, servedAt, used, head.seq, head.due_at, nextAt)
    }
    if (meter === undefined) return
    if (meter.filledAt > now)
      db.run(SET_RATE, topic, key, meter.filledAt, isWaiting && !isFull && opensAt > now ? opensAt : null)
    else db.run(DROP_RATE, topic, key)
  }

  /** A topic is known to have keys as long as one of them waits, or its rate is used. */
  #keepTopic({ topic, stamp }: TopicRow): void {
    const { db, ledger } = this.#scene
    const isAny = db.get<{ isAny: 0 | 1 }>(IS_ANY, topic)?.isAny === 1
    if (isAny === (stamp !== null)) return
    if (isAny) db.fence()
    ledger.setKeyed(topic, isAny)
  }

  #turnsOf(topic: number, key: string): KeptTurn[] {
    return this.#scene.db.all<KeptTurn>(TURNS, topic, key)
  }

  #meterOf(topic: number, key: string, { rate }: KeyTerms): Meter | undefined {
    if (rate === undefined) return undefined
    const filledAt = this.#scene.db.get<{ filled_at: number }>(RATE, topic, key)?.filled_at ?? 0
    return new Meter(rate, filledAt, this.#scene.now)
  }

  #holderOf(topic: number, key: string, terms: KeyTerms): KeyHead | undefined {
    return isSerial(terms) ? this.#scene.db.get<KeyHead>(HOLDER, topic, key) : undefined
  }

  #running(topic: number, key: string, { concurrency }: KeyTerms): number {
    if (concurrency === undefined) return 0
    return this.#scene.db.get<{ n: number }>(RUNNING, topic, key, concurrency)?.n ?? 0
  }
}

function turnOf(row: KeptTurn | undefined): KeyTurn | undefined {
  return row === undefined ? undefined : { servedAt: row.served_at, used: row.used }
}

function isSame(
  row: KeptTurn | undefined,
  { servedAt, used }: KeyTurn,
  { seq, due_at }: Pick<KeyHead, 'seq' | 'due_at'>,
  nextAt: number | null,
): boolean {
  return (
    row?.served_at === servedAt &&
    row.used === used &&
    row.seq === seq &&
    row.due_at === due_at &&
    row.next_at === nextAt
  )
}
