/**
 * How the partitions of a queue share the room of one worker. Each is claimed from by a dispatcher of its own, and none of
 * them knows what the others have asked for:
 *
 *   room 10 ──► first asks for 5 ──► second for 3 ──► third for 1 ──► fourth for 1 ──► fifth waits for its turn
 *
 * What one has asked for and not been answered, no other asks for: else a worker with one free slot would be handed a
 * message by each of them, and give all but one back. Each asks for half of what is left, so that several go at once and one
 * alone soon has everything. Room that comes free is offered to the one whose turn was least lately.
 *
 * A claim that has no answer for a while holds nothing back: its partition is slow or away, and must not stop the others
 * (if it brings something after all, what finds no slot goes back, P12). A queue of one partition has nothing of all this.
 */
import type { Clock, Timer } from '../../clock.ts'
import type { Want } from '../../store/contract/store.ts'
import { NOTHING_PROMISED, type Promised } from './room.ts'

/** An answer takes a millisecond or a few. */
const PATIENCE_MS = 100

/** A dispatcher, as seen here. */
export interface Sharer {
  /** There may be room: it looks, and asks its partition if there is. */
  noteRoom(): void
}

type ClaimUnderWay = {
  readonly limit: number
  readonly wants: ReadonlyMap<string, number>
  readonly sentAt: number
}

export class RoomSharing {
  readonly #clock: Clock
  /** Who took its turn least lately comes first. */
  #sharers: Sharer[] = []
  readonly #underWay = new Map<Sharer, ClaimUnderWay>()
  #timer: Timer | undefined
  #isStopped = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  join(sharer: Sharer): void {
    this.#sharers.push(sharer)
  }

  promised(asker: Sharer): Promised {
    if (this.#underWay.size === 0) return NOTHING_PROMISED
    const since = this.#clock.monotonic() - PATIENCE_MS
    const others = [...this.#underWay].flatMap(([sharer, claim]) =>
      sharer !== asker && claim.sentAt > since ? [claim] : [],
    )
    if (others.length === 0) return NOTHING_PROMISED
    return {
      total: others.reduce((sum, { limit }) => sum + limit, 0),
      of: (topic) => others.reduce((sum, { wants }) => sum + (wants.get(topic) ?? 0), 0),
    }
  }

  /** Of what is left, so much is one's own. */
  share(left: number): number {
    return Math.ceil(left / 2)
  }

  /** It asks for all that it had to wait for: next time the others come before it. */
  takesTurn(sharer: Sharer): void {
    this.#sharers = [...this.#sharers.filter((one) => one !== sharer), sharer]
  }

  asks(sharer: Sharer, wants: readonly Want[], limit: number): void {
    this.#underWay.set(sharer, {
      limit,
      wants: new Map(wants.map((want) => [want.topic, Math.min(want.limit, limit)])),
      sentAt: this.#clock.monotonic(),
    })
  }

  isAsking(sharer: Sharer): boolean {
    return this.#underWay.has(sharer)
  }

  answered(sharer: Sharer): void {
    if (this.#underWay.delete(sharer)) this.offer()
  }

  /** Room came free: each looks, in turn. */
  offer(): void {
    this.#sharers.forEach((sharer) => sharer.noteRoom())
  }

  /** One found everything promised to others: room is offered again, at the latest when they have had time enough. */
  waits(): void {
    if (this.#isStopped) return
    this.#timer ??= this.#clock.schedule(PATIENCE_MS, () => {
      this.#timer = undefined
      this.offer()
    })
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }
}
