/**
 * Pauses and limits of one topic, or of the whole queue: what is kept of them, and how much may start now. Pure; engines
 * keep the numbers, ask inside a claim, and charge what they handed out.
 *
 * A rate is measured by GCRA: one moment is kept, `filledAt`, by which everything that started would have been spaced
 * evenly. A start moves it on by one interval; how far it may lie ahead of now is the burst.
 *
 *        now          filledAt                    earliest next start = filledAt - (burst - 1) intervals - leeway
 *   ──────┼──────────────┼──────►
 *         └─ at most burst + 1/2 intervals ─┘
 *
 * A claim comes a little after the moment that it was told. Without leeway each such delay would be lost for good, and a
 * rate of 50 a second would be 45. With half an interval of it, late starts are made up for, and no window w holds more
 * than burst + rate x w + 1/2 (P14 allows 1, so that there is room for the way to the handler).
 *
 * A clock that is set back would leave `filledAt` far ahead: more than the burst is not believed. Set forward, it costs one
 * burst.
 */

/** One start in each interval, so many at once. */
export type RateLimit = { readonly intervalMs: number; readonly burst: number }

/** How many may start in a time, and run at once, over all processes. */
export type Allowance = {
  readonly rate?: RateLimit
  readonly concurrency?: number
}

/** `perKey`: what each key of the topic is allowed, unless it has a limit of its own. */
export type TopicLimit = Allowance & { readonly perKey?: Allowance }

/** A rate that ends by itself. */
export type TemporaryRate = RateLimit & { readonly endsAt: number }

/** What is kept for one topic. */
export type TopicControl = {
  /** Nothing starts before this; FOREVER until somebody resumes it; 0 when it is not paused. */
  readonly pausedUntil: number
  readonly limit: TopicLimit
  /** Some of its keys have limits of their own; kept elsewhere, by key. */
  readonly hasKeyLimits?: boolean
  readonly over?: TemporaryRate
  /** Of the rate in `limit`, and of `over`. */
  readonly filledAt: number
  readonly overFilledAt: number
}

export const FOREVER = 8_640_000_000_000_000

/** The name under which the controls of the whole queue are kept: no topic is called so. */
export const WHOLE_QUEUE = ''

/** In intervals: how much earlier than evenly spaced a start may come. */
const LEEWAY = 0.5

/** A meter that is fuller than it can be by more than this was filled by another clock, or under another rate. */
const DISBELIEF_MS = 1_000

/** So many topics may have controls: a list of them is never long. */
export const CONTROLS_MAX = 1_000

const UNCONTROLLED: TopicControl = { pausedUntil: 0, limit: {}, filledAt: 0, overFilledAt: 0 }

export function paused(control: TopicControl | undefined, until: number): TopicControl {
  const { over: _over, ...rest } = control ?? UNCONTROLLED
  return { ...rest, pausedUntil: until, overFilledAt: 0 }
}

/** Without `over` also a temporary rate ends. */
export function resumed(control: TopicControl | undefined, over: TemporaryRate | undefined): TopicControl {
  const { over: _over, ...rest } = control ?? UNCONTROLLED
  return { ...rest, pausedUntil: 0, overFilledAt: 0, ...(over === undefined ? {} : { over }) }
}

/** The whole limit is replaced. What the old rate let through counts for the new one. */
export function limited(control: TopicControl | undefined, limit: TopicLimit | null): TopicControl {
  const before = control ?? UNCONTROLLED
  return { ...before, limit: limit ?? {}, filledAt: limit?.rate === undefined ? 0 : before.filledAt }
}

/** Whether some keys of the topic have limits of their own. */
export function withKeyLimits(control: TopicControl | undefined, hasKeyLimits: boolean): TopicControl {
  const { hasKeyLimits: _before, ...rest } = control ?? UNCONTROLLED
  return hasKeyLimits ? { ...rest, hasKeyLimits } : rest
}

/** What its keys are allowed matters to a claim: nothing is handed out ahead. */
export function limitsKeys({ limit, hasKeyLimits = false }: TopicControl): boolean {
  return limit.perKey !== undefined || hasKeyLimits
}

/** Nothing is left of it, and it need not be kept. */
export function isOver(control: TopicControl, now: number): boolean {
  const { pausedUntil, limit, over } = control
  return (
    pausedUntil <= now &&
    limit.rate === undefined &&
    limit.concurrency === undefined &&
    !limitsKeys(control) &&
    (over === undefined || over.endsAt <= now)
  )
}

/** A rate as it stands at one moment. */
export class Meter {
  readonly #rate: RateLimit
  /** `filledAt` if nothing more starts now. */
  #filledAt: number
  readonly #now: number
  /** A temporary rate holds until then. */
  readonly #endsAt: number

  constructor(rate: RateLimit & { readonly endsAt?: number }, filledAt: number, now: number) {
    const { intervalMs, burst, endsAt = Infinity } = rate
    this.#rate = rate
    this.#now = now
    this.#endsAt = endsAt
    const most = now + intervalMs * (burst + LEEWAY)
    // Were it held at the most instead, nothing would start until the clock is where it was.
    this.#filledAt = filledAt > most + DISBELIEF_MS ? now : Math.max(now, Math.min(filledAt, most))
  }

  get filledAt(): number {
    return this.#filledAt
  }

  /** How many may start now. */
  get left(): number {
    return Math.max(0, Math.floor((this.#now - this.#nextAt()) / this.#rate.intervalMs) + 1)
  }

  /** When the next one may start. */
  get againAt(): number {
    return Math.min(this.#nextAt(), this.#endsAt)
  }

  charge(count: number): void {
    this.#filledAt += count * this.#rate.intervalMs
  }

  #nextAt(): number {
    const { intervalMs, burst } = this.#rate
    return this.#filledAt - (burst - 1 + LEEWAY) * intervalMs
  }
}
