/**
 * The topics that this process handles, as lanes, and who may start next.
 *
 * Every lane has its own line, so that a slow topic blocks only itself. All lanes share the queue's slots, and here
 * is the rule that keeps one from taking them all: a lane that already runs something may take another slot only
 * while enough are left for each idle lane to start one. (With fewer slots than lanes that is impossible; then
 * they simply take turns.)
 */
import type { HandleSettings } from '../../core/input/options.ts'
import type { StandardSchema } from '../../core/input/schema.ts'
import { PRIORITIES } from '../../core/message.ts'
import type { Handler } from '../handler.ts'
import { Line } from './line.ts'
import type { Run } from './run.ts'

/** How far ahead a lane may fill its line: what it can run within this time. */
const SOON_MS = 25
/** More than this is never fetched ahead, however fast the handlers are. */
const AHEAD_MAX = 1_000
/** How fast the average forgets. */
const AVERAGE_WEIGHT = 0.05
/** Faster than this counts as this. */
const DURATION_MS_MIN = 0.02

export class Lane {
  readonly topic: string
  readonly handler: Handler
  readonly settings: HandleSettings
  readonly schema: StandardSchema | undefined
  /** Its place among the lanes. */
  index = 0
  running = 0
  /** Leased, and waiting for its moment. */
  held = 0
  #averageMs: number | undefined
  /** By priority: what was fetched later and matters more starts first. */
  readonly #lines = PRIORITIES.map(() => new Line())

  constructor(topic: string, handler: Handler, settings: HandleSettings, schema: StandardSchema | undefined) {
    this.topic = topic
    this.handler = handler
    this.settings = settings
    this.schema = schema
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
  }

  leaveLine(run: Run): void {
    this.#lines[run.lease.priority]?.remove(run)
  }

  ended(durationMs: number): void {
    const average = this.#averageMs ?? durationMs
    this.#averageMs = average + (durationMs - average) * AVERAGE_WEIGHT
  }

  /** How many it will get through soon, beyond those that run. Nothing until it has shown how fast it is. */
  get ahead(): number {
    if (this.#averageMs === undefined) return 0
    const perSlot = SOON_MS / Math.max(this.#averageMs, DURATION_MS_MIN)
    return Math.min(AHEAD_MAX, Math.floor(perSlot * this.settings.concurrency))
  }
}

export class Lanes {
  readonly #slots: number
  readonly #byTopic = new Map<string, Lane>()
  readonly #all: Lane[] = []
  #running = 0
  #idle = 0

  constructor(slots: number) {
    this.#slots = slots
  }

  add(lane: Lane): void {
    lane.index = this.#all.length
    this.#all.push(lane)
    this.#byTopic.set(lane.topic, lane)
    this.#idle += 1
  }

  get(topic: string): Lane | undefined {
    return this.#byTopic.get(topic)
  }

  get all(): readonly Lane[] {
    return this.#all
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
    if (lane.running >= lane.settings.concurrency) return false
    return lane.running === 0 ? this.#running < this.#slots : this.#unreserved(lane) > 0
  }

  takeSlot(lane: Lane): void {
    if (lane.running === 0) this.#idle -= 1
    lane.running += 1
    this.#running += 1
  }

  freeSlot(lane: Lane): void {
    lane.running -= 1
    this.#running -= 1
    if (lane.running === 0) this.#idle += 1
  }

  /** How many more of this topic can be run soon. */
  roomFor(lane: Lane): number {
    const atLeast = lane.running === 0 && this.#running < this.#slots ? 1 : 0
    const free = Math.min(lane.settings.concurrency - lane.running, Math.max(atLeast, this.#unreserved(lane)))
    return Math.max(0, free) + lane.ahead - lane.queued - lane.held
  }

  /** How many more can be run soon in all. */
  get room(): number {
    let ahead = 0
    let waiting = 0
    for (const lane of this.#all) {
      ahead += lane.ahead
      waiting += lane.queued + lane.held
    }
    return Math.max(0, this.#slots - this.#running) + Math.min(ahead, AHEAD_MAX) - waiting
  }

  /** Free slots, less one for each other lane that runs nothing. */
  #unreserved(lane: Lane): number {
    const free = this.#slots - this.#running
    if (this.#slots < this.#all.length) return free
    return free - (lane.running === 0 ? this.#idle - 1 : this.#idle)
  }
}
