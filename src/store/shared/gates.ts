/**
 * What pauses and limits leave of one claim. A gate stands before each topic that has a control of its own or falls under
 * one of the whole queue; other topics have none, and a claim without controls makes no gates at all.
 *
 *   open      so many may be handed out now (`left`)
 *   shut      for a while: `againAt` says until when, by the clock alone
 *   shut off  until something else happens, which wakes: a resume, or a settlement at the limit
 *   closed    to the asker: shut off, or until it has a free slot
 */
import { FOREVER, Meter, WHOLE_QUEUE, isOver, limitsKeys, type TopicControl } from '../../core/controls.ts'
import { isControl } from '../../core/control.ts'
import type { ClaimDue } from '../contract/store.ts'

/** The meters of one control, for the time of one claim. */
class Meters {
  readonly control: TopicControl
  readonly rate: Meter | undefined
  readonly over: Meter | undefined
  isCharged = false

  constructor(control: TopicControl, now: number) {
    const { limit, over } = control
    this.control = control
    this.rate = limit.rate === undefined ? undefined : new Meter(limit.rate, control.filledAt, now)
    this.over =
      over === undefined || over.endsAt <= now ? undefined : new Meter(over, control.overFilledAt, now)
  }

  get charged(): TopicControl {
    const { control, rate, over } = this
    return {
      ...control,
      filledAt: rate?.filledAt ?? control.filledAt,
      overFilledAt: over?.filledAt ?? control.overFilledAt,
    }
  }
}

/** Slots that the asker can start in now, over all of its topics. */
type FreeSlots = { left: number }

type GateParts = {
  readonly meters: readonly Meters[]
  readonly running: number
  readonly free: number
  readonly freeSlots: FreeSlots
  readonly now: number
}

export class Gate {
  readonly #all: readonly Meters[]
  readonly #meters: readonly Meter[]
  readonly #freeSlots: FreeSlots
  readonly #pausedUntil: number
  readonly #now: number
  /** Slots of the asker for this topic, and places that the limit leaves. */
  #free: number
  #places: number
  /** It has a limit now, or its keys have: nothing is handed out ahead, and no more than can start at once. */
  readonly isLimited: boolean

  constructor({ meters, running, free, freeSlots, now }: GateParts) {
    this.#all = meters
    this.#meters = meters.flatMap(({ rate, over }) => [rate, over]).filter((meter) => meter !== undefined)
    this.#pausedUntil = Math.max(...meters.map(({ control }) => control.pausedUntil))
    const places = Math.min(...meters.map(({ control }) => control.limit.concurrency ?? Infinity))
    this.#places = places - running
    this.#free = free
    this.#freeSlots = freeSlots
    this.#now = now
    const areKeysLimited = meters.some(({ control }) => limitsKeys(control))
    this.isLimited = places < Infinity || this.#meters.length > 0 || areKeysLimited
  }

  /** How many may be handed out now. */
  get left(): number {
    if (this.#pausedUntil > this.#now) return 0
    if (!this.isLimited) return Infinity
    const rates = this.#meters.map(({ left }) => left)
    return Math.max(0, Math.min(this.#places, this.#free, this.#freeSlots.left, ...rates))
  }

  /** No clock opens it, for any worker. */
  get isShutOff(): boolean {
    return this.#pausedUntil === FOREVER || this.#places <= 0
  }

  /** No clock opens it to the asker. */
  get isClosed(): boolean {
    return this.isShutOff || (this.isLimited && this.free <= 0)
  }

  /** How many the asker can start at once. */
  get free(): number {
    return this.#freeSlots.left <= 0 ? 0 : this.#free
  }

  take(count: number): void {
    if (!this.isLimited || count === 0) return
    this.#places -= count
    this.#free -= count
    this.#freeSlots.left -= count
    for (const meters of this.#all) {
      meters.rate?.charge(count)
      meters.over?.charge(count)
      meters.isCharged = true
    }
  }

  /** How far ahead of its moment a message of this topic may be handed out. */
  leadMs(leadMs: number): number {
    return this.isLimited ? 0 : leadMs
  }

  /** When the first that waits can be handed out to the asker, if it is due at `headAt`; undefined: not by the clock. */
  againAt(headAt: number | undefined, leadMs: number): number | undefined {
    return this.isClosed ? undefined : this.opensAt(headAt, leadMs)
  }

  /** The same for a worker with a free slot. */
  opensAt(headAt: number | undefined, leadMs: number): number | undefined {
    if (headAt === undefined || this.isShutOff) return undefined
    const moments = this.#meters.map(({ againAt }) => Math.ceil(againAt))
    return Math.max(headAt - this.leadMs(leadMs), this.#pausedUntil, ...moments)
  }
}

/** The gates of one claim. */
export class Gates {
  readonly #controls: ReadonlyMap<string, TopicControl>
  readonly #now: number
  readonly #freeSlots: FreeSlots
  readonly #meters = new Map<string, Meters>()

  constructor(
    controls: ReadonlyMap<string, TopicControl>,
    { free, limit }: Pick<ClaimDue, 'free' | 'limit'>,
    now: number,
  ) {
    this.#controls = controls
    this.#now = now
    this.#freeSlots = { left: free ?? limit }
  }

  /** `free`: slots of the asker for this topic. Undefined: nothing holds the topic back. */
  before(topic: string, { running, free }: { running: number; free: number }): Gate | undefined {
    // Our own topics do not stop with the queue.
    const names = isControl(topic) ? [topic] : [topic, WHOLE_QUEUE]
    const meters = names.map((name) => this.#metersOf(name)).filter((found) => found !== undefined)
    if (meters.length === 0) return undefined
    return new Gate({ meters, running, free, freeSlots: this.#freeSlots, now: this.#now })
  }

  /** Controls whose meters were charged, as they are to be kept. */
  *charged(): Iterable<readonly [topic: string, control: TopicControl]> {
    for (const [topic, meters] of this.#meters) if (meters.isCharged) yield [topic, meters.charged]
  }

  #metersOf(name: string): Meters | undefined {
    const known = this.#meters.get(name)
    if (known !== undefined) return known
    const control = this.#controls.get(name)
    if (control === undefined || isOver(control, this.#now)) return undefined
    const meters = new Meters(control, this.#now)
    this.#meters.set(name, meters)
    return meters
  }
}
