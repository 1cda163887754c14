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
 * (if it brings something after all, what finds no slot goes back, P12). With a single partition all of this is nothing.
 *
 * A store that counts on its sleepers spares most of them, and has each look once a minute, for the case that all others
 * died (P9). Of the partitions that spare it a worker looks at one in each minute, in turn. Where that one spares it no more,
 * workers have gone, and it looks at all of them:
 *
 *   they die ──► their last looks are over ──► the next turn finds that out ──► all are looked at
 *                 within the fallback            within a minute less that
 *
 * With a fallback of more than half a minute there are no turns: each partition is looked at as its store says.
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

/** How long what nobody looks at may lie when workers die, and the longest fallback that leaves time for turns in it. */
const LOOK_MS = 60_000
const FALLBACK_MS_MAX = 30_000
/** For answers, and for looks that were a little late. */
const MARGIN_MS = 2_000
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
  /** Undefined: without turns. */
  readonly #turnMs: number | undefined
  /** Who took its turn least lately comes first. */
  #members: RotaMember[] = []
  /** Those whose partition spares us, who was looked at least lately first. */
  readonly #spared = new Set<RotaMember>()
  readonly #underWay = new Map<RotaMember, ClaimUnderWay>()
  #timer: Timer | undefined
  #turn: Timer | undefined
  /** Whose turn it is, until its partition has answered. */
  #turnOf: RotaMember | undefined
  #alarm: Timer | undefined
  #alarmedAt = -Infinity
  #isStopped = false

  constructor(clock: Clock, fallbackMs: number) {
    this.#clock = clock
    this.#turnMs = fallbackMs > FALLBACK_MS_MAX ? undefined : LOOK_MS - MARGIN_MS - fallbackMs
  }

  join(member: RotaMember): void {
    this.#members.push(member)
  }

  /** Whether there is anybody to share with. */
  get isShared(): boolean {
    return this.#members.length > 1
  }

  /** Until each of them has had its turn, and once more; undefined without turns. */
  get lookMsMax(): number | undefined {
    return this.isShared && this.#turnMs !== undefined ? (this.#members.length + 1) * this.#turnMs : undefined
  }

  /** What its partition says: others look within the fallback; or we must, because we watch a message, or because nobody does. */
  noteLook(member: RotaMember, why: 'spared' | 'watching' | 'needed'): void {
    if (!this.isShared || this.#isStopped || this.#turnMs === undefined) return
    const wasSpared = this.#spared.has(member)
    if (why === 'spared') this.#spared.add(member)
    else this.#spared.delete(member)
    this.#planTurn()
    const isTurn = this.#turnOf === member
    if (isTurn) this.#turnOf = undefined
    // Who comes to watch a message is not needed by everybody; but who finds at its turn that it should, may be the only one.
    if (wasSpared && (why === 'needed' || (isTurn && why === 'watching'))) this.#raiseAlarm()
  }

  #planTurn(): void {
    if (this.#turnMs === undefined || this.#spared.size === 0) return
    this.#turn ??= this.#clock.schedule(this.#turnMs, () => {
      this.#turn = undefined
      const [member] = this.#spared
      if (member !== undefined) {
        this.#spared.delete(member)
        this.#spared.add(member)
        this.#turnOf = member
        member.look()
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
      for (const member of this.#members) member.look()
    })
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

  /** It asks for all that it had to wait for: next time the others come before it. */
  takesTurn(member: RotaMember): void {
    if (this.isShared) this.#members = [...this.#members.filter((one) => one !== member), member]
  }

  asks(member: RotaMember, wants: readonly Want[], limit: number): void {
    if (!this.isShared) return
    this.#underWay.set(member, {
      limit,
      wants: new Map(wants.map((want) => [want.topic, Math.min(want.limit, limit)])),
      sentAt: this.#clock.monotonic(),
    })
  }

  isAsking(member: RotaMember): boolean {
    return this.#underWay.has(member)
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
    if (this.#isStopped) return
    this.#timer ??= this.#clock.schedule(PATIENCE_MS, () => {
      this.#timer = undefined
      this.offer()
    })
  }

  stop(): void {
    this.#isStopped = true
    for (const timer of [this.#timer, this.#turn, this.#alarm]) timer?.cancel()
    this.#spared.clear()
  }
}
