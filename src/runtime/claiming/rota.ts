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
 *
 * A store that counts on its sleepers lets most of them sleep, and has each look once a minute, for the case that all others
 * died (P9). Of many partitions a worker looks at one in each minute, in turn. Where one of them tells it to look sooner than
 * before, workers have gone, and it looks at all of them.
 */
import type { Clock, Timer } from '../../clock.ts'
import type { Want } from '../../store/contract/store.ts'

/** An answer takes a millisecond or a few. */
const PATIENCE_MS = 100

/** A dispatcher, as the rota sees it. */
export interface RotaMember {
  /** There may be room: it looks, and asks its partition if there is. */
  noteRoom(): void
  /** Something may be due that nobody else sees to. */
  look(): void
}

/** How often a worker looks on its own, at one partition or another. */
const LOOK_MS = 60_000
/** Looks at all of them come no oftener than this. */
const ALARM_MS = 5_000

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
  readonly #places = new Map<RotaMember, number>()
  readonly #underWay = new Map<RotaMember, ClaimUnderWay>()
  #timer: Timer | undefined
  #alarmedAt = -Infinity

  constructor(clock: Clock) {
    this.#clock = clock
  }

  join(member: RotaMember): void {
    this.#members.push(member)
    this.#places.set(member, this.#places.size)
  }

  /** Whether there is anybody to share with. */
  get isShared(): boolean {
    return this.#members.length > 1
  }

  /** Until this one's next turn to be looked at, a minute at least; undefined for the only one. */
  lookMsMax(member: RotaMember): number | undefined {
    if (!this.isShared) return undefined
    const roundMs = this.#places.size * LOOK_MS
    const turnAt = (this.#places.get(member) ?? 0) * LOOK_MS
    const ms = (turnAt - (this.#clock.monotonic() % roundMs) + roundMs) % roundMs
    return ms < LOOK_MS ? ms + roundMs : ms
  }

  /** One of them wants to be looked at sooner than before. */
  alarm(from: RotaMember): void {
    const now = this.#clock.monotonic()
    if (!this.isShared || now - this.#alarmedAt < ALARM_MS) return
    this.#alarmedAt = now
    for (const member of this.#members) if (member !== from) member.look()
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
    this.#members.forEach((member) => member.noteRoom())
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
