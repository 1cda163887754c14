/**
 * How the partitions of a queue share the room of one worker. Each is claimed from by a dispatcher of its own, and none of
 * them knows what the others have asked for:
 *
 *   room 10 ──► first asks for 5 ──► second for 3 ──► third for 1 ──► fourth for 1 ──► fifth waits for its turn
 *
 * What one has asked for and not been answered, no other asks for: else a worker with one free slot would be handed a
 * message by each of them, and give all but one back. Each asks for half of what is left, so that several go at once and one
 * alone soon has everything. Room that comes free is offered to the one that has asked least lately.
 *
 * A claim that has no answer for a while holds nothing back: its partition is slow or away, and must not stop the others
 * (if it brings something after all, what finds no slot goes back, P12). With a single partition all of this is nothing.
 */
import type { Clock, Timer } from '../clock.ts'
import type { Want } from '../store/contract/store.ts'

/** An answer takes a millisecond or a few. */
const PATIENCE_MS = 100

/** A dispatcher, as the rota sees it. */
export interface RotaMember {
  /** There may be room: it looks, and asks its partition if there is. */
  noteRoom(): void
}

/** What others have asked for and may yet be handed. */
export type Promised = { readonly total: number; readonly of: (topic: string) => number }

type ClaimUnderWay = {
  readonly limit: number
  readonly wants: ReadonlyMap<string, number>
  readonly sentAt: number
}

export const NOTHING_PROMISED: Promised = { total: 0, of: () => 0 }

export class Rota {
  readonly #clock: Clock
  /** Who asked least lately comes first. */
  #members: RotaMember[] = []
  readonly #underWay = new Map<RotaMember, ClaimUnderWay>()
  #timer: Timer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  join(member: RotaMember): void {
    this.#members.push(member)
  }

  /** Whether there is anybody to share with. */
  get isShared(): boolean {
    return this.#members.length > 1
  }

  promised(asker: RotaMember): Promised {
    if (this.#underWay.size === 0) return NOTHING_PROMISED
    const since = this.#clock.monotonic() - PATIENCE_MS
    const others = [...this.#underWay].flatMap(([member, claim]) =>
      member !== asker && claim.sentAt > since ? [claim] : [],
    )
    if (others.length === 0) return NOTHING_PROMISED
    return {
      total: others.reduce((sum, { limit }) => sum + limit, 0),
      of: (topic) => others.reduce((sum, { wants }) => sum + (wants.get(topic) ?? 0), 0),
    }
  }

  /** Of what is left, so much is one's own. */
  share(left: number): number {
    return this.isShared ? Math.ceil(left / 2) : left
  }

  asks(member: RotaMember, wants: readonly Want[], limit: number): void {
    if (!this.isShared) return
    this.#members = [...this.#members.filter((one) => one !== member), member]
    this.#underWay.set(member, {
      limit,
      wants: new Map(wants.map((want) => [want.topic, Math.min(want.limit, limit)])),
      sentAt: this.#clock.monotonic(),
    })
  }

  answered(member: RotaMember): void {
    if (this.#underWay.delete(member)) this.offer()
  }

  /** Room came free: each looks, in turn. */
  offer(): void {
    for (const member of this.#members) member.noteRoom()
  }

  /** Somebody found everything promised to others: it is offered again, at the latest when they have had time enough. */
  waits(): void {
    this.#timer ??= this.#clock.schedule(PATIENCE_MS, () => {
      this.#timer = undefined
      this.offer()
    })
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
