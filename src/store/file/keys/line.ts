/**
 * The line of one topic and priority as one claim takes from it: keys by turn, a little at a time. A key that was served goes back
 * into it with its next message.
 */
import { FRESH_TURN, nextStamp, servedTurn } from '../../../core/keys.ts'
import type { PriorityRank } from '../../../core/message.ts'
import type { TopicRow } from '../database/ledger.ts'
import type { LedgerScene } from '../verbs/scene.ts'
import { IN_LINE, lineEnd } from './moments.ts'
import type { KeyInHand, KeyTurns } from './turns.ts'

/** So many keys that a lowered limit holds back may a claim meet in the line; then it says that more is there. */
const PASSED_MAX = 1_000
const SLICE_MAX = 256

const PAGE = `SELECT key, seq, due_at, next_at AS turn ${IN_LINE} AND (next_at, seq) > (?, ?) ORDER BY next_at, seq LIMIT ?`
const BEHIND = `SELECT seq, due_at FROM place INDEXED BY place_line WHERE state = 0 AND topic = ? AND key = ? AND priority = ?
  AND due_at <= ? AND (due_at, seq) > (?, ?) ORDER BY due_at, seq LIMIT ?`

type Behind = { readonly seq: number; readonly due_at: number }
type StandingKey = Behind & { readonly key: string; readonly turn: number }

/** What of a key was read ahead. */
type ReadAhead = { next: Behind[]; size: number }

export class TurnLine {
  readonly #scene: LedgerScene
  readonly #turns: KeyTurns
  readonly #topic: TopicRow
  readonly #rank: PriorityRank
  readonly #until: number
  readonly #end: number
  readonly #size: number
  #line: StandingKey[] = []
  readonly #queues = new Map<string, ReadAhead>()
  /** The last one that was read; undefined: nothing is behind it. */
  #read: { readonly turn: number; readonly seq: number } | undefined = { turn: -1, seq: -1 }
  #passed = 0

  /** `size`: no more than so many are taken. */
  constructor(
    scene: LedgerScene & { readonly turns: KeyTurns },
    topic: TopicRow,
    rank: PriorityRank,
    { until, size }: { readonly until: number; readonly size: number },
  ) {
    this.#scene = scene
    this.#turns = scene.turns
    this.#topic = topic
    this.#rank = rank
    this.#until = until
    this.#end = lineEnd(topic, scene.now, until)
    this.#size = size
  }

  /** It ended before all of it was looked at. */
  get isCut(): boolean {
    return this.#passed >= PASSED_MAX
  }

  /** The next one, if it may be handed out now. */
  first(): StandingKey | undefined {
    while (!this.isCut) {
      this.#readOn()
      const standing = this.#line[0]
      if (standing === undefined) return undefined
      if (mayGo(this.#turns.inHand(this.#topic, standing.key), standing)) return standing
      this.#line.shift()
      this.#turns.touch(this.#topic.topic, standing.key)
      this.#passed += 1
    }
    return undefined
  }

  /** The first is handed out. */
  serve(): void {
    const standing = this.#line.shift()
    if (standing === undefined) return
    const { now, ledger } = this.#scene
    const key = this.#turns.inHand(this.#topic, standing.key)
    const stamp = nextStamp(ledger.topicNumbered(this.#topic.topic).stamp ?? 0, now)
    ledger.setStamp(this.#topic.topic, stamp)
    key.room -= 1
    key.meter?.charge(1)
    const turn = servedTurn(key.turns.get(this.#rank) ?? FRESH_TURN, key.terms.weight, stamp)
    key.turns.set(this.#rank, turn)
    this.#turns.touch(this.#topic.topic, standing.key)
    const next = this.#behind(standing)
    if (next !== undefined)
      this.#insert({ ...next, key: key.key, turn: Math.max(next.due_at, turn.servedAt) })
  }

  /** What was not read stands behind the last that was. */
  #readOn(): void {
    const first = this.#line[0]
    if (this.#read === undefined || (first !== undefined && first.turn <= this.#read.turn)) return
    const { db } = this.#scene
    const { turn, seq } = this.#read
    const values = [this.#topic.topic, this.#rank, this.#end, this.#until, turn, seq, this.#size] as const
    const page = db.all<StandingKey>(PAGE, ...values)
    for (const standing of page) this.#insert(standing)
    this.#read = page.length < this.#size ? undefined : page.at(-1)
  }

  #behind({ key, seq, due_at }: Behind & { readonly key: string }): Behind | undefined {
    const queue = this.#queues.get(key) ?? { next: [], size: 1 }
    this.#queues.set(key, queue)
    if (queue.next.length === 0 && queue.size > 0) {
      const values = [this.#topic.topic, key, this.#rank, this.#until, due_at, seq, queue.size] as const
      queue.next = this.#scene.db.all<Behind>(BEHIND, ...values)
      queue.size = queue.next.length < queue.size ? 0 : Math.min(4 * queue.size, SLICE_MAX)
    }
    return queue.next.shift()
  }

  #insert(standing: StandingKey): void {
    let at = this.#line.length
    while (at > 0 && isBefore(standing, this.#line[at - 1] as StandingKey)) at -= 1
    this.#line.splice(at, 0, standing)
  }
}

function isBefore(a: StandingKey, b: StandingKey): boolean {
  return a.turn < b.turn || (a.turn === b.turn && a.seq < b.seq)
}

/** What stands in the line may do so too early. */
function mayGo({ room, meter, holder }: KeyInHand, { seq }: StandingKey): boolean {
  return room > 0 && (meter === undefined || meter.left > 0) && (holder === undefined || holder.seq === seq)
}
