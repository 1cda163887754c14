/** The demo's books: what is expected, what has arrived, and how late. Pure; a view and a verdict are made from it. */
import type { FoundMessage } from '../../../index.ts'
import { ORDER_SECONDS, ORDER_TOPIC } from './plan.ts'

export type Arrival = { readonly id: string; readonly latenessMs: number; readonly attempt: number }

export type Arrived = Arrival & { readonly topic: string; readonly dueAt: number }

/** Upper edges in milliseconds; the last bucket has none. */
export const LATENESS_EDGES = [1, 2, 5, 10, 20, 50] as const

export type Percentiles = { readonly p50: number; readonly p99: number; readonly max: number }

type Expected = { readonly topic: string; readonly dueAt: number; readonly seconds: number | undefined }

export class Tally {
  /** When this run began: what was due before waited for it, and says nothing about how late the queue is. */
  readonly startedAt: number
  readonly #expected = new Map<string, Expected>()
  readonly #arrived = new Map<string, Arrived>()
  readonly #lateness: number[] = []
  readonly #orderSeen: number[] = []
  readonly histogram: number[] = Array.from({ length: LATENESS_EDGES.length + 1 }, () => 0)
  repeated = 0
  /** One of the order test was cut off by a crash: its second attempt rightly comes out of turn. */
  isOrderCut = false
  early = 0

  constructor(startedAt: number) {
    this.startedAt = startedAt
  }

  expect({ id, topic, dueAt, payload }: FoundMessage): void {
    this.#expected.set(id, { topic, dueAt, seconds: secondsOf(topic, payload) })
  }

  arrive(arrival: Arrival): Arrived | undefined {
    const expected = this.#expected.get(arrival.id)
    if (expected === undefined) return undefined
    if (this.#arrived.has(arrival.id)) {
      this.repeated += 1
      return undefined
    }
    const { topic, dueAt, seconds } = expected
    const arrived = { ...arrival, topic, dueAt }
    this.#arrived.set(arrival.id, arrived)
    if (seconds !== undefined) this.#orderSeen.push(seconds)
    if (seconds !== undefined && arrival.attempt > 1) this.isOrderCut = true
    if (arrival.latenessMs < 0) this.early += 1
    if (dueAt >= this.startedAt && arrival.attempt === 1) this.#measure(arrival.latenessMs)
    return arrived
  }

  get total(): number {
    return this.#expected.size
  }

  get arrived(): number {
    return this.#arrived.size
  }

  get isComplete(): boolean {
    return this.arrived === this.total
  }

  /** How many came due while no demo ran. */
  get overdue(): number {
    return [...this.#expected.values()].filter(({ dueAt }) => dueAt < this.startedAt).length
  }

  /** Whole: what an earlier run left of it shows nothing any more. */
  get hasOrderTest(): boolean {
    const seconds = [...this.#expected.values()].filter((expected) => expected.seconds !== undefined)
    return seconds.length === ORDER_SECONDS.length
  }

  /** The delays of the order test, in seconds, as they arrived. */
  get orderSeen(): readonly number[] {
    return this.#orderSeen
  }

  /** The moments of what has not arrived, earliest first. */
  pendingMoments(): number[] {
    const pending: number[] = []
    for (const [id, { dueAt }] of this.#expected) if (!this.#arrived.has(id)) pending.push(dueAt)
    return pending.toSorted((a, b) => a - b)
  }

  recent(count: number): readonly Arrived[] {
    return count <= 0 ? [] : [...this.#arrived.values()].slice(-count).toReversed()
  }

  /** Undefined before the first arrival. */
  percentiles(): Percentiles | undefined {
    const sorted = this.#lateness.toSorted((a, b) => a - b)
    const max = sorted.at(-1)
    if (max === undefined) return undefined
    const atShare = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? max
    return { p50: atShare(0.5), p99: atShare(0.99), max }
  }

  #measure(latenessMs: number): void {
    this.#lateness.push(latenessMs)
    const found = LATENESS_EDGES.findIndex((edge) => latenessMs < edge)
    const bucket = found === -1 ? LATENESS_EDGES.length : found
    this.histogram[bucket] = (this.histogram[bucket] ?? 0) + 1
  }
}

function secondsOf(topic: string, payload: unknown): number | undefined {
  if (topic !== ORDER_TOPIC || typeof payload !== 'object' || payload === null) return undefined
  return 'seconds' in payload ? Number(payload.seconds) : undefined
}
