/**
 * The topics that this process handles, as lanes: which may start next, and how much to fetch for each.
 *
 * Every lane has its own lines, so that a slow topic blocks only itself. All lanes share the queue's slots, and here
 * is the rule that keeps one from taking them all: a lane that already runs something may take another slot only
 * while enough are left for each idle lane to start one. (With fewer slots than lanes that is impossible; then
 * they simply take turns.)
 *
 * What is fetched (P12):
 *
 *   room of a lane = what can start now + what will start soon - what waits here already
 *                    free slots           measured handler times (`AHEAD_MS` of `lane`)
 *
 * Fetching ahead keeps fast handlers busy while the store answers. It is bounded in all, in messages and in bytes, and
 * shared equally by the lanes that have something to do. A lane whose line went back, because it did not move, fetches
 * nothing ahead until one of its handlers ends. A topic with a limit is never fetched ahead: what is claimed counts as
 * started, so it must start at once, and before others (P14).
 */
import type { Lane, TopicFacts } from './lane.ts'
import type { RunSource } from './run.ts'
import { Suspects } from './suspects.ts'

/** All lanes together fetch no more than this ahead. */
const AHEAD_MAX = 1_000
export const AHEAD_BYTES_MAX = 32 * 1024 * 1024

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
  /** Which of those that lapsed before are taken in hand. */
  readonly suspects: Suspects
  readonly #slots: () => number
  readonly #byTopic = new Map<string, Lane>()
  readonly #all: Lane[] = []
  readonly #users: Lane[] = []
  readonly #told = new Set<Lane>()
  readonly #limited = new Set<Lane>()
  #running = 0
  #idle = 0

  /** How many handlers run at once; a function where that changes. */
  constructor(slots: number | (() => number)) {
    this.#slots = typeof slots === 'number' ? () => slots : slots
    this.suspects = new Suspects(this.#slots)
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

  /**
   * How many messages a second could be worked off: each topic with its own slots, and all with those of the queue, at what their handlers
   * took. Undefined before one has ended.
   */
  get perSecond(): number | undefined {
    const slots = this.#slots()
    const known = this.#users.flatMap(({ meanMs, settings }) =>
      meanMs === undefined
        ? []
        : [{ meanMs: Math.max(1, meanMs), own: Math.min(slots, settings.concurrency) }],
    )
    if (known.length === 0) return undefined
    const meanMs = known.reduce((sum, one) => sum + one.meanMs, 0) / known.length
    const eachItsOwn = known.reduce((sum, one) => sum + one.own / one.meanMs, 0)
    return Math.min(eachItsOwn, slots / meanMs) * 1_000
  }

  /** Whether the store said anything of any topic. */
  get areTold(): boolean {
    return this.#told.size > 0
  }

  /** Those whose topic has a limit. */
  get limited(): ReadonlySet<Lane> {
    return this.#limited
  }

  /** What this partition said of the lane's topic. */
  tell(lane: Lane, source: RunSource, facts: TopicFacts): void {
    if (facts === 'plain' && lane.told === 'plain') return
    lane.hear(source, facts)
    if (lane.told === 'plain') this.#told.delete(lane)
    else this.#told.add(lane)
    if (lane.told === 'limited') this.#limited.add(lane)
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
    if (lane.first !== undefined && !this.suspects.mayStart(lane.first)) return false
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
    const places = this.suspects.placesFor(lane)
    const ahead = this.#free(lane) + this.#ahead(lane, survey)
    const room = Math.min(places, Math.max(0, ahead - lane.queued - lane.held))
    // What waits here of other topics may take every slot: then nothing of a limited one can start.
    return lane.told === 'limited' ? Math.min(room, survey.free) : room
  }

  /** How many more of this topic can be started now. */
  freeFor(lane: Lane): number {
    return Math.min(this.suspects.placesFor(lane), Math.max(0, this.#free(lane) - lane.queued - lane.held))
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
