/**
 * When a worker looks at the partitions of its queue although no store told it to.
 *
 * A store that counts on its sleepers spares most of them, and has each look once a minute, for the case that all others
 * died (P9). Of the partitions that spare it a worker looks at one in each minute, in turn. Where that one spares it no more,
 * workers have gone, and it looks at all of them:
 *
 *   they die ──► their last looks are over ──► the next turn finds that out ──► all are looked at
 *                 within the fallback            within a minute less that
 *
 * With a fallback of more than half a minute there are no turns: each partition is looked at as its store says, and none of
 * this exists; neither does it for a queue of one partition.
 */
import type { Clock, Timer } from '../../clock.ts'
import type { Next } from '../../store/contract/store.ts'

/** How long what no worker looks at may lie when workers die, and the longest fallback that leaves time for turns in it. */
const LOOK_MS = 60_000
const FALLBACK_MS_MAX = 30_000
/** For answers, and for looks that were a little late. */
const MARGIN_MS = 2_000
/** Looks at all of them come no oftener than this. */
const ALARM_MS = 5_000

/** One partition, as seen here. */
export interface Looker {
  /** Something may be due that no other worker sees to. */
  look(): void
}

export class OwnLooks {
  readonly #clock: Clock
  readonly #fallbackMs: number
  readonly #turnMs: number
  readonly #lookers: Looker[] = []
  /** Those whose partition spares us, who was looked at least lately first. */
  readonly #spared = new Set<Looker>()
  #turn: Timer | undefined
  /** Whose turn it is, until its partition has answered. */
  #turnOf: Looker | undefined
  #alarm: Timer | undefined
  #alarmedAt = -Infinity
  #isStopped = false

  constructor(clock: Clock, fallbackMs: number) {
    this.#clock = clock
    this.#fallbackMs = fallbackMs
    this.#turnMs = LOOK_MS - MARGIN_MS - fallbackMs
  }

  /** Whether there is time for turns. */
  static isPossible(fallbackMs: number): boolean {
    return fallbackMs <= FALLBACK_MS_MAX
  }

  join(looker: Looker): void {
    this.#lookers.push(looker)
  }

  /** Until each partition has had its turn, and once more. */
  get lookMsMax(): number {
    return (this.#lookers.length + 1) * this.#turnMs
  }

  /** What its partition says: others look within the fallback; or we must, because we watch a message, or because no worker does. */
  note(looker: Looker, lookMs: number, next: Next): void {
    if (this.#isStopped) return
    const why = lookMs > this.#fallbackMs + 1 ? 'spared' : next.state === 'NO_TASK' ? 'needed' : 'watching'
    const wasSpared = this.#spared.has(looker)
    if (why === 'spared') this.#spared.add(looker)
    else this.#spared.delete(looker)
    this.#planTurn()
    const isTurn = this.#turnOf === looker
    if (isTurn) this.#turnOf = undefined
    // One that comes to watch a message is not needed by all; but one that finds at its turn that it should, may be the only one.
    if (wasSpared && (why === 'needed' || (isTurn && why === 'watching'))) this.#raiseAlarm()
  }

  stop(): void {
    this.#isStopped = true
    this.#turn?.cancel()
    this.#alarm?.cancel()
    this.#spared.clear()
  }

  #planTurn(): void {
    if (this.#spared.size === 0) return
    this.#turn ??= this.#clock.schedule(this.#turnMs, () => {
      this.#turn = undefined
      const [looker] = this.#spared
      if (looker !== undefined) {
        this.#spared.delete(looker)
        this.#spared.add(looker)
        this.#turnOf = looker
        looker.look()
      }
      this.#planTurn()
    })
  }

  /** All are looked at: now, or when those that were looked at just now have had time. */
  #raiseAlarm(): void {
    const waitMs = Math.max(0, this.#alarmedAt + ALARM_MS - this.#clock.monotonic())
    this.#alarm ??= this.#clock.schedule(waitMs, () => {
      this.#alarm = undefined
      this.#alarmedAt = this.#clock.monotonic()
      for (const looker of this.#lookers) looker.look()
    })
  }
}
