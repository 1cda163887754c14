/**
 * The topics that this process handles, as lanes: who may start next, and how much to fetch.
 *
 * Every lane has its own lines, so that a slow topic blocks only itself. All lanes share the queue's slots, and here
 * is the rule that keeps one from taking them all: a lane that already runs something may take another slot only
 * while enough are left for each idle lane to start one. (With fewer slots than lanes that is impossible; then
 * they simply take turns.)
 *
 * What is fetched (P12):
 *
 *   room of a lane = what can start now + what will start soon - what waits here already
 *                    free slots           measured handler times
 *
 * Fetching ahead keeps fast handlers busy while the store answers. It is bounded in all, in messages and in bytes, and
 * shared equally by the lanes that have something to do. A lane whose line went back, because it did not move, fetches
 * nothing ahead until one of its handlers ends. A topic with a limit is never fetched ahead: what is claimed counts as
 * started, so it must start at once, and before others (P14).
 */
import type { HandleSettings } from '../../core/input/handle-options.ts'
import type { StandardSchema } from '../../core/input/schema.ts'
import type { DueMoment } from '../../core/input/request.ts'
import type { Ending } from '../../core/machines/outcome.ts'
import { PRIORITIES } from '../../core/message.ts'
import type { Lease } from '../../store/contract/store.ts'
import type { Handler } from '../handler.ts'
import { Average } from './average.ts'
import { Line } from './line.ts'
import type { Carried, Run } from './run.ts'

/** What will start within this time is fetched ahead. */
const SOON_MS = 100
/** All lanes together fetch no more than this ahead. */
const AHEAD_MAX = 1_000
export const AHEAD_BYTES_MAX = 32 * 1024 * 1024
/** Faster than this counts as this. */
const DURATION_MS_MIN = 0.02

/** How a message of our own ends: done, or due again then; and what is stored in the same step. */
export type OwnEnd = { readonly again: DueMoment | undefined; readonly carried: Carried }
export type OwnHandler = (lease: Lease, payload: unknown, latenessMs: number) => Promise<OwnEnd>

/** Messages of a lane that are run elsewhere: how many more can be handed out now, and who hands out one. */
export type RemoteHands = {
  readonly demand: () => number
  /** Takes one off the demand. `end` is called once, with how it ended. */
  readonly start: (run: Run, end: (ending: Ending) => void) => void
}

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
  /** Since when it is known to be paused, monotonic: what was asked for before may have come from before the pause. */
  pausedAt: number | undefined
  /** It gave back its line, and none of its handlers has ended since. */
  #isBarred = false
  /** The store said at the last claim that its topic has a limit. Changed by `Lanes.setLimited` only. */
  isLimited = false
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

  enqueue(run: Run): void {
    this.#lines[run.lease.priority]?.push(run)
    this.#bytes.add(run.lease.body.length)
  }

  /**
   * Whether what was asked for then may have been handed out before a pause that we heard of since. A claim that was sent
   * no earlier and brings something shows that the pause is over.
   */
  wasPausedSince(askedAt: number): boolean {
    if (this.pausedAt === undefined) return false
    if (askedAt < this.pausedAt) return true
    this.pausedAt = undefined
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

  blocked(durationMs: number): void {
    this.#blockMs.add(durationMs)
  }

  /** Those that will start soon behind what runs, with so many slots: none until it has shown how fast it is. */
  soon(slots: number): number {
    const averageMs = this.#durationMs.value
    if (this.#isBarred || this.isLimited || averageMs === undefined) return 0
    return Math.floor((SOON_MS / Math.max(averageMs, DURATION_MS_MIN)) * slots)
  }

  /** So many can be started before the first of them has kept the others waiting for long. */
  get startable(): number {
    const blockMs = this.#blockMs.value
    return blockMs === undefined || blockMs === 0 ? Infinity : Math.max(1, Math.floor(SOON_MS / blockMs))
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

/** How much can be fetched, at one moment. */
export type Survey = {
  /** In all, without lanes of our own. */
  readonly room: number
  /** Of these, how many can be started now. */
  readonly free: number
  /** The most that one lane may fetch ahead. */
  readonly share: number
  readonly bytesShare: number
}

export class Lanes {
  readonly #slots: () => number
  readonly #byTopic = new Map<string, Lane>()
  readonly #all: Lane[] = []
  readonly #users: Lane[] = []
  readonly #limited = new Set<Lane>()
  #running = 0
  #idle = 0

  /** How many handlers run at once; a function where that changes. */
  constructor(slots: number | (() => number)) {
    this.#slots = typeof slots === 'number' ? () => slots : slots
  }

  add(lane: Lane): void {
    lane.index = this.#all.length
    this.#all.push(lane)
    this.#byTopic.set(lane.topic, lane)
    if (lane.own !== undefined) return
    this.#users.push(lane)
    this.#idle += 1
  }

  get(topic: string): Lane | undefined {
    return this.#byTopic.get(topic)
  }

  get all(): readonly Lane[] {
    return this.#all
  }

  /** Without our own. */
  get users(): readonly Lane[] {
    return this.#users
  }

  /** Those whose topic has a limit. */
  get limited(): ReadonlySet<Lane> {
    return this.#limited
  }

  setLimited(lane: Lane, isLimited: boolean): void {
    lane.isLimited = isLimited
    if (isLimited) this.#limited.add(lane)
    else this.#limited.delete(lane)
  }

  get slots(): number {
    return this.#slots()
  }

  get running(): number {
    return this.#running
  }

  /** The lane that comes `distance` after the one served last: with equal claims everybody gets a turn. */
  after(served: Lane | undefined, distance: number): Lane | undefined {
    const from = served === undefined ? 0 : served.index + 1
    return this.#all[(from + distance) % this.#all.length]
  }

  mayStart(lane: Lane): boolean {
    if (lane.remote !== undefined) return lane.remote.demand() > 0
    if (lane.running >= lane.settings.concurrency) return false
    if (lane.own !== undefined) return true
    return lane.running === 0 ? this.#running < this.slots : this.#unreserved(lane) > 0
  }

  takeSlot(lane: Lane): void {
    lane.running += 1
    if (lane.own !== undefined) return
    if (lane.running === 1) this.#idle -= 1
    this.#running += 1
  }

  freeSlot(lane: Lane): void {
    lane.running -= 1
    if (lane.own !== undefined) return
    this.#running -= 1
    if (lane.running === 0) this.#idle += 1
  }

  survey(): Survey {
    let busy = 0
    for (const lane of this.#users) if (lane.running + lane.held + lane.queued > 0) busy += 1
    const share = Math.floor(AHEAD_MAX / Math.max(1, busy))
    const bytesShare = AHEAD_BYTES_MAX / Math.max(1, busy)
    let starting = 0
    let waitingAhead = 0
    let ahead = 0
    for (const lane of this.#users) {
      const waiting = lane.held + lane.queued
      const startingHere = Math.min(waiting, this.#free(lane))
      starting += startingHere
      waitingAhead += waiting - startingHere
      ahead += Math.max(0, this.#ahead(lane, { share, bytesShare }) - (waiting - startingHere))
    }
    const now = Math.max(0, this.slots - this.#running - starting)
    const room = now + Math.max(0, Math.min(ahead, AHEAD_MAX - waitingAhead))
    return { room, free: now, share, bytesShare }
  }

  /** Of lanes of our own. */
  ownRoom(): number {
    let room = 0
    for (const lane of this.#all)
      if (lane.own !== undefined) room += this.#free(lane) - lane.queued - lane.held
    return Math.max(0, room)
  }

  /** How many more of this topic can be started now or soon. */
  roomFor(lane: Lane, survey: Survey): number {
    const room = Math.max(0, this.#free(lane) + this.#ahead(lane, survey) - lane.queued - lane.held)
    // What waits here of other topics may take every slot: then nothing of a limited one can start.
    return lane.isLimited ? Math.min(room, survey.free) : room
  }

  /** How many more of this topic can be started now. */
  freeFor(lane: Lane): number {
    return Math.max(0, this.#free(lane) - lane.queued - lane.held)
  }

  /** Room that is worth a call: for a line that has run dry, or for half of what is fetched ahead. */
  isWorthwhile(lane: Lane, survey: Survey): boolean {
    const room = this.roomFor(lane, survey)
    return room > 0 && (lane.queued === 0 || room * 2 >= this.#ahead(lane, survey))
  }

  #ahead(lane: Lane, { share, bytesShare }: Pick<Survey, 'share' | 'bytesShare'>): number {
    if (lane.own !== undefined || lane.remote !== undefined) return 0
    const slots = Math.min(lane.settings.concurrency, this.slots)
    return Math.min(lane.soon(slots), share, lane.fitting(bytesShare))
  }

  /** How many of this lane can start now. */
  #free(lane: Lane): number {
    if (lane.remote !== undefined) return lane.remote.demand()
    if (lane.own !== undefined) return lane.settings.concurrency - lane.running
    const atLeast = lane.running === 0 && this.#running < this.slots ? 1 : 0
    const slots = Math.max(atLeast, this.#unreserved(lane))
    return Math.max(0, Math.min(lane.settings.concurrency - lane.running, slots, lane.startable))
  }

  /** Free slots, less one for each other lane that runs nothing. */
  #unreserved(lane: Lane): number {
    const free = this.slots - this.#running
    if (this.slots < this.#users.length) return free
    return free - (lane.running === 0 ? this.#idle - 1 : this.#idle)
  }
}
