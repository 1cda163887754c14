/**
 * The keys of one topic: what waits of each, and whose turn it is.
 *
 *   waiting messages of a key ─► its queues (by priority; dueAt, order) ─► the first that is due stands in the line of the
 *                                                                     │    topic, by turn
 *                                                                     └──► or the key rests until its rate allows a start
 *
 * The wheel says when a message of a key comes due, as of every message. A key is there while one of its messages waits or
 * runs, and while its rate is not recovered. A claim looks only at the lines, so that it does not meet keys that are held
 * back.
 *
 * Cost: O(log n) for each message; a change of limits is swept over the keys, so many in one call.
 */
import { Meter, type Allowance } from '../../../core/controls.ts'
import {
  FRESH_TURN,
  enteredTurn,
  isSerial,
  nextStamp,
  servedTurn,
  termsOf,
  type KeyLimit,
  type KeyTerms,
} from '../../../core/keys.ts'
import type { PriorityRank } from '../../../core/message.ts'
import type { KeyState } from '../../contract/store.ts'
import { RANKS, freshKey, turnOf, type Key, type KeyLook, type KeyStand } from './key.ts'
import { ReadyLine } from '../line.ts'
import type { MessageTable } from '../table.ts'

/** How many keys one claim looks at after a limit has changed. */
const SWEEP_MAX = 2_000

/** What the keys of a topic are allowed. */
export type KeyRules = {
  readonly perKey: Allowance | undefined
  readonly own: ReadonlyMap<string, KeyLimit> | undefined
}

export class TopicKeys {
  readonly #table: MessageTable
  readonly #byName = new Map<string, Key>()
  readonly #all: (Key | undefined)[] = []
  readonly #free: number[] = []
  /** By priority: the first of each key, by turn. */
  readonly #lines = RANKS.map(
    (rank) => new ReadyLine((number, turn, order) => this.#standsAt(number, rank, turn, order)),
  )
  readonly #resting = new ReadyLine((number, at) => this.#all[number]?.restsUntil === at)
  readonly #recovering = new ReadyLine((number, at) => this.#all[number]?.recoversAt === at)
  #rules: KeyRules
  /** Of the last service. */
  #stamp = 0
  /** The number of the next key that has not heard of the rules yet. */
  #sweptTo = Infinity
  #now = 0

  constructor(table: MessageTable, rules: KeyRules) {
    this.#table = table
    this.#rules = rules
  }

  has(name: string): boolean {
    return this.#byName.has(name)
  }

  get size(): number {
    return this.#byName.size
  }

  /** Keys whose rate has come round go on, or are forgotten. False while a change of the rules is still swept. */
  advance(now: number): boolean {
    this.#now = now
    for (const line of [this.#resting, this.#recovering])
      for (let at = line.firstDueAt(); at !== undefined && at <= now; at = line.firstDueAt()) {
        const key = this.#all[line.pop() as number] as Key
        key.restsUntil = Infinity
        key.recoversAt = Infinity
        this.#refresh(key)
      }
    for (let left = SWEEP_MAX; left > 0 && this.#sweptTo < this.#all.length; left -= 1) {
      const key = this.#all[this.#sweptTo]
      this.#sweptTo += 1
      if (key !== undefined) this.#refresh(key)
    }
    return this.#sweptTo >= this.#all.length
  }

  /** Every key hears of it in the next calls of `advance`. */
  rule(rules: KeyRules): void {
    this.#rules = rules
    this.#sweptTo = 0
  }

  /** A message waits from now on. */
  enter(slot: number, now: number): void {
    this.#now = now
    const name = this.#table.key(slot) as string
    const key = this.#byName.get(name) ?? this.#make(name)
    const [dueAt, , rank] = this.#placeOf(slot)
    if (key.waiting.size + key.running === 0) key.turns[rank] = enteredTurn(dueAt, now)
    this.#line(key, slot)
    this.#refresh(key)
  }

  /**
   * One that ran waits again, and its key keeps its turn. `isHolding`: by the store's doing, so that a serial key waits for
   * it.
   */
  putBack(slot: number, now: number, isHolding: boolean): void {
    this.#now = now
    const key = this.#keyOf(slot)
    key.running -= 1
    if (isHolding && isSerial(this.#termsOf(key))) key.held.add(slot)
    this.#line(key, slot)
    this.#refresh(key)
  }

  /** A message has come due. */
  comeDue(slot: number): void {
    const [dueAt] = this.#placeOf(slot)
    this.#now = Math.max(this.#now, dueAt)
    this.#refresh(this.#keyOf(slot))
  }

  /** A message waits no more, and was not handed out. */
  leave(slot: number): void {
    const key = this.#keyOf(slot)
    this.#takeOut(key, slot)
    this.#refresh(key)
  }

  /** The first of those whose turn it is. */
  first(rank: PriorityRank): KeyStand | undefined {
    const number = this.#lines[rank]?.first()
    return number === undefined ? undefined : this.#all[number]?.standing[rank]
  }

  /** The message is handed out: its key is served. */
  serve(slot: number, now: number): void {
    this.#now = now
    const key = this.#keyOf(slot)
    const [, , rank] = this.#placeOf(slot)
    const { rate, weight } = this.#termsOf(key)
    this.#takeOut(key, slot)
    key.running += 1
    if (rate !== undefined) {
      const meter = new Meter(rate, key.filledAt, now)
      meter.charge(1)
      key.filledAt = meter.filledAt
    }
    this.#stamp = nextStamp(this.#stamp, now)
    key.turns[rank] = servedTurn(key.turns[rank] ?? FRESH_TURN, weight, this.#stamp)
    this.#refresh(key)
  }

  /** A message that was handed out runs no more, and does not wait. */
  end(slot: number, now: number): void {
    this.#now = now
    const key = this.#keyOf(slot)
    key.running -= 1
    this.#refresh(key)
  }

  get isReady(): boolean {
    return this.#lines.some((line) => !line.isEmpty())
  }

  /** The moment of the earliest message whose turn it is. */
  readyAt(): number | undefined {
    const moments = RANKS.flatMap((rank) => this.first(rank)?.slot ?? []).map(
      (slot) => this.#placeOf(slot)[0],
    )
    return moments.length === 0 ? undefined : Math.min(...moments)
  }

  /** When the next key that waits for its rate goes on by itself. */
  restsUntil(): number | undefined {
    return this.#resting.firstDueAt()
  }

  /** The clock was set back: what was due may be to come again, and what was served in the future was served now. */
  restart(now: number): void {
    this.#now = now
    this.#stamp = now
    for (const key of this.#byName.values())
      for (const [rank, { servedAt, used }] of key.turns.entries())
        key.turns[rank] = { servedAt: Math.min(servedAt, now), used }
    for (const key of this.#byName.values()) this.#refresh(key)
  }

  state(name: string, now: number): KeyState {
    const limit = this.#rules.own?.get(name)
    const own = limit === undefined ? {} : { limit }
    const key = this.#byName.get(name)
    if (key === undefined) return { key: name, waiting: 0, running: 0, ...own }
    this.#now = now
    const { holder, turnAt, opensAt } = this.#look(key)
    return {
      key: name,
      waiting: key.waiting.size,
      running: key.running,
      ...(turnAt === undefined ? {} : { turnAt }),
      ...(opensAt > now ? { rateAt: opensAt } : {}),
      ...(holder === undefined
        ? {}
        : { held: { id: this.#table.id(holder), dueAt: this.#placeOf(holder)[0] } }),
      ...own,
    }
  }

  /** The names from a number on, each with the number behind it; what stays keeps its number. */
  *namesFrom(number: number): Iterable<readonly [name: string, next: number]> {
    for (let at = number; at < this.#all.length; at += 1) {
      const key = this.#all[at]
      if (key !== undefined) yield [key.name, at + 1]
    }
  }

  /** Chooses the first of each priority anew, and whether the key rests. */
  #refresh(key: Key): void {
    const { heads, firstDueAt, turnAt, opensAt } = this.#look(key)
    const isAllowed = turnAt !== undefined
    const isOpen = isAllowed && opensAt <= this.#now
    for (const rank of RANKS) this.#stand(key, rank, isOpen ? heads[rank] : undefined)
    const isEmpty = key.waiting.size + key.running === 0
    // One whose first is due later than its rate allows goes on when that is due.
    this.#rest(key, isAllowed && opensAt > this.#now && firstDueAt <= opensAt ? opensAt : Infinity)
    this.#recover(key, isEmpty && key.filledAt > this.#now ? Math.ceil(key.filledAt) : Infinity)
    if (isEmpty && key.recoversAt === Infinity) this.#forget(key)
  }

  #stand(key: Key, rank: PriorityRank, slot: number | undefined): void {
    const [dueAt, order] = slot === undefined ? [Infinity, 0] : this.#placeOf(slot)
    if (slot === undefined || dueAt > this.#now) {
      key.standing[rank] = undefined
      return
    }
    const turn = turnOf(key, rank, dueAt)
    const before = key.standing[rank]
    key.standing[rank] = { slot, turn, order }
    if (before?.turn !== turn || before.order !== order) this.#lines[rank]?.push(key.number, turn, order)
  }

  #rest(key: Key, until: number): void {
    if (key.restsUntil === until) return
    key.restsUntil = until
    if (until !== Infinity) this.#resting.push(key.number, until, key.number)
  }

  #recover(key: Key, at: number): void {
    if (key.recoversAt === at) return
    key.recoversAt = at
    if (at !== Infinity) this.#recovering.push(key.number, at, key.number)
  }

  #look(key: Key): KeyLook {
    const terms = this.#termsOf(key)
    const { rate, concurrency = Infinity } = terms
    const holder = this.#holderOf(key, terms)
    const heads = RANKS.map((rank) => {
      if (holder === undefined) return key.queues[rank]?.first()
      return this.#table.priority(holder) === rank ? holder : undefined
    })
    const opensAt = rate === undefined ? 0 : Math.ceil(new Meter(rate, key.filledAt, this.#now).againAt)
    let [firstDueAt, turn] = [Infinity, Infinity]
    for (const slot of heads) {
      if (slot === undefined) continue
      const [dueAt, , rank] = this.#placeOf(slot)
      firstDueAt = Math.min(firstDueAt, dueAt)
      turn = Math.min(turn, turnOf(key, rank, dueAt))
    }
    const isAllowed = key.running < concurrency && turn < Infinity
    return { holder, heads, firstDueAt, opensAt, turnAt: isAllowed ? Math.max(turn, opensAt) : undefined }
  }

  /** The earliest of the retries that hold it. */
  #holderOf(key: Key, terms: KeyTerms): number | undefined {
    if (key.held.size === 0 || !isSerial(terms)) return undefined
    const [first] = [...key.held].toSorted((a, b) => {
      const [[dueAt, order], [otherAt, other]] = [this.#placeOf(a), this.#placeOf(b)]
      return dueAt - otherAt || order - other
    })
    return first
  }

  #line(key: Key, slot: number): void {
    const [dueAt, order, rank] = this.#placeOf(slot)
    key.waiting.add(slot)
    key.queues[rank]?.push(slot, dueAt, order)
  }

  #takeOut(key: Key, slot: number): void {
    key.waiting.delete(slot)
    key.held.delete(slot)
  }

  #make(name: string): Key {
    const number = this.#free.pop() ?? this.#all.length
    const waiting = new Set<number>()
    const isThere = (slot: number, dueAt: number, order: number): boolean => {
      const place = this.#placeOf(slot)
      return waiting.has(slot) && place[0] === dueAt && place[1] === order
    }
    const key = freshKey(name, number, waiting, isThere)
    this.#all[number] = key
    this.#byName.set(name, key)
    return key
  }

  #forget(key: Key): void {
    this.#byName.delete(key.name)
    this.#all[key.number] = undefined
    this.#free.push(key.number)
  }

  #keyOf(slot: number): Key {
    return this.#byName.get(this.#table.key(slot) as string) as Key
  }

  #placeOf(slot: number): readonly [dueAt: number, order: number, rank: PriorityRank] {
    const { dueAt, order } = this.#table
    return [dueAt[slot] as number, order[slot] as number, this.#table.priority(slot)]
  }

  #termsOf({ name }: Key): KeyTerms {
    return termsOf(this.#rules.perKey, this.#rules.own?.get(name))
  }

  #standsAt(number: number, rank: PriorityRank, turn: number, order: number): boolean {
    const standing = this.#all[number]?.standing[rank]
    return standing?.turn === turn && standing.order === order
  }
}
