/**
 * One topic that this process handles: its handler, what waits for it here, how fast it is, and what the store says of it.
 * Which lane may start or fetch next is a matter between lanes (`lanes`).
 */
import type { HandleSettings } from '../../core/input/handle-options.ts'
import type { DueMoment } from '../../core/input/request.ts'
import type { StandardSchema } from '../../core/input/schema.ts'
import type { Ending } from '../../core/machines/outcome.ts'
import { PRIORITIES } from '../../core/message.ts'
import type { ClaimReply, Lease } from '../../store/contract/store.ts'
import type { Handler } from '../handler.ts'
import { Average } from './average.ts'
import { Line } from './line.ts'
import { leasedAt, type Carried, type Run, type RunSource } from './run.ts'

/**
 * What a claim said of its topic, as one value: where several things hold, the one that allows least.
 *
 *   keyed     messages of it have keys: what is fetched ahead of its start costs other keys their turn (P16)
 *   limited   it or its keys have a limit: what is claimed counts as started, so it must start at once (P14)
 */
export type TopicFacts = 'plain' | 'keyed' | 'limited'

/** What will start within this time is fetched ahead (P12): the less, the stricter. */
const AHEAD_MS: Readonly<Record<TopicFacts, number>> = { plain: 100, keyed: 10, limited: 0 }
/** Handlers that keep the event loop to themselves: so many start at once as take this long together. */
const BLOCK_MS_MAX = 100
/** Faster than this counts as this. */
const DURATION_MS_MIN = 0.02

const ALL_PLAIN: ReadonlyMap<string, TopicFacts> = new Map()

/** What the store says of the topics that were asked for; of a plain one it says nothing. */
export function topicFactsOf({ limited, keyed }: ClaimReply): ReadonlyMap<string, TopicFacts> {
  if (limited === undefined && keyed === undefined) return ALL_PLAIN
  const facts = new Map<string, TopicFacts>()
  for (const topic of keyed ?? []) facts.set(topic, 'keyed')
  for (const topic of limited ?? []) facts.set(topic, 'limited')
  return facts
}

/** How a message of our own ends: done, or due again then; and what is stored in the same step. */
export type OwnEnd = { readonly again: DueMoment | undefined; readonly carried: Carried }
export type OwnHandler = (lease: Lease, payload: unknown, latenessMs: number) => Promise<OwnEnd>

/** Messages of a lane that are run elsewhere: how many more can be handed out now, and who hands out one. */
export type RemoteHands = {
  readonly demand: () => number
  /** Takes one off the demand. `end` is called once, with how it ended. */
  readonly start: (run: Run, end: (ending: Ending) => void) => void
}

/** `heardAt`: monotonic, when the answer came. `seenAt`: when the store looked, by its clock. */
export type Pause = { readonly heardAt: number; readonly seenAt: number }

export class Lane {
  readonly topic: string
  readonly handler: Handler
  readonly settings: HandleSettings
  readonly schema: StandardSchema | undefined
  /** Of a topic of our own: it takes no slot from users, and nothing is told of its messages. */
  readonly own: OwnHandler | undefined
  /** Of a topic that is run elsewhere: nothing is fetched ahead of its demand. */
  readonly remote: RemoteHands | undefined
  /** Its place among the lanes. */
  index = 0
  running = 0
  /** Leased, and waiting for its moment. */
  held = 0
  readonly #pauses = new Map<RunSource, Pause>()
  /** It gave back its line, and none of its handlers has ended since. */
  #isBarred = false
  readonly #toldBy = new Map<RunSource, TopicFacts>()
  #told: TopicFacts = 'plain'
  readonly #durationMs = new Average({ up: 0.25, down: 0.05 })
  /** How long a handler keeps the event loop to itself when it starts. */
  readonly #blockMs = new Average({ up: 0.05, down: 0.05 })
  readonly #bytes = new Average({ up: 0.25, down: 0.05 })
  /** By priority: what was fetched later and matters more starts first. */
  readonly #lines = PRIORITIES.map(() => new Line())

  constructor(
    topic: string,
    handler: Handler,
    settings: HandleSettings,
    { schema, own, remote }: LaneKind = {},
  ) {
    this.topic = topic
    this.handler = handler
    this.settings = settings
    this.schema = schema
    this.own = own
    this.remote = remote
  }

  /** Due, and waiting for a slot. */
  get queued(): number {
    let queued = 0
    for (const line of this.#lines) queued += line.length
    return queued
  }

  /** The one that starts next. */
  get first(): Run | undefined {
    for (const line of this.#lines) if (line.first !== undefined) return line.first
    return undefined
  }

  get told(): TopicFacts {
    return this.#told
  }

  /** What this partition says of the topic. What the strictest of them says holds; called by `Lanes.tell` only. */
  hear(source: RunSource, facts: TopicFacts): void {
    if (facts === 'plain') this.#toldBy.delete(source)
    else this.#toldBy.set(source, facts)
    this.#told = 'plain'
    for (const one of this.#toldBy.values()) if (AHEAD_MS[one] < AHEAD_MS[this.#told]) this.#told = one
  }

  enqueue(run: Run): void {
    this.#lines[run.lease.priority]?.push(run)
    this.#bytes.add(run.lease.body.length)
  }

  /** This partition said that it is paused. */
  pause(source: RunSource, pause: Pause): void {
    this.#pauses.set(source, pause)
  }

  /**
   * Whether this was handed out before the pause that we heard of. What the store handed out later shows that the pause is
   * over, even where its answer and the one about the pause overtook each other (P7). Its clock may be set back: what was
   * asked for after we heard is not looked at.
   */
  isFromBeforePause({ lease, source }: Run, askedAt: number): boolean {
    const pause = this.#pauses.get(source)
    if (pause === undefined) return false
    if (askedAt < pause.heardAt) return leasedAt(lease) <= pause.seenAt
    this.#pauses.delete(source)
    return false
  }

  leaveLine(run: Run): void {
    this.#lines[run.lease.priority]?.remove(run)
  }

  /** Its line did not move, and goes back: nothing is fetched ahead until a handler ends. */
  bar(): void {
    this.#isBarred = true
  }

  ended(durationMs: number): void {
    this.#isBarred = false
    this.#durationMs.add(durationMs)
  }

  /** How long its handler takes; undefined before one has ended. */
  get meanMs(): number | undefined {
    return this.#durationMs.value
  }

  blocked(durationMs: number): void {
    this.#blockMs.add(durationMs)
  }

  /** Those that will start soon behind what runs, with so many slots: none until it has shown how fast it is. */
  soon(slots: number): number {
    const averageMs = this.#durationMs.value
    if (this.#isBarred || averageMs === undefined) return 0
    return Math.floor((AHEAD_MS[this.told] / Math.max(averageMs, DURATION_MS_MIN)) * slots)
  }

  /** So many can be started before the first of them has kept the others waiting for long. */
  get startable(): number {
    const blockMs = this.#blockMs.value
    return blockMs === undefined || blockMs === 0 ? Infinity : Math.max(1, Math.floor(BLOCK_MS_MAX / blockMs))
  }

  /** So many of its messages fit into so many bytes. */
  fitting(bytes: number): number {
    const average = this.#bytes.value
    return average === undefined || average === 0 ? Infinity : Math.floor(bytes / average)
  }
}

export type LaneKind = {
  readonly schema?: StandardSchema | undefined
  readonly own?: OwnHandler
  readonly remote?: RemoteHands
}
