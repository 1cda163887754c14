/**
 * Pauses as a worker hears of them: gives back what it was handed of a paused topic before and has not started, and tells listeners.
 *
 * The store itself hands out nothing of a paused topic. What it handed out before may still wait here for its moment or for a
 * slot; a wake-up of the kind `controls` says that it is time to look. A pause that ends by itself is looked for again at
 * its end. A lost wake-up costs the event, and what waits here goes back by itself when it cannot start (P12, P14).
 *
 * Each partition of a queue has its pauses, and is looked at by itself; listeners hear of a pause once (`PauseBook`).
 */
import type { Clock, Timer } from '../../clock.ts'
import { FOREVER, WHOLE_QUEUE } from '../../core/controls.ts'
import { TIMER_MS_MAX } from '../../core/input/duration.ts'
import type { ControlsReply, Store } from '../../store/contract/store.ts'
import type { Consumers } from '../consumers.ts'
import type { Events } from '../telling/events.ts'
import type { Lanes } from '../runs/lanes.ts'
import type { RunSource } from '../runs/run.ts'

export type ControlsParts = {
  readonly clock: Clock
  readonly store: Store
  readonly source: RunSource
  readonly book: PauseBook
  readonly lanes: Lanes
  readonly consumers: Consumers
  readonly onFailure: (error: unknown) => void
}

export class Controls {
  readonly #parts: ControlsParts
  /** What is paused as far as is known here, and until when. */
  #paused: Pauses = new Map()
  #timer: Timer | undefined
  /** `again`: something changed while the store was asked. */
  #state: 'idle' | 'looking' | 'again' | 'stopped' = 'idle'

  constructor(parts: ControlsParts) {
    this.#parts = parts
  }

  /** A control may have changed. */
  look(): void {
    if (!this.#parts.store.capabilities.features.includes('controls')) return
    if (this.#state === 'looking') this.#state = 'again'
    if (this.#state !== 'idle') return
    this.#state = 'looking'
    void this.#look()
  }

  stop(): void {
    this.#state = 'stopped'
    this.#timer?.cancel()
  }

  async #look(): Promise<void> {
    try {
      const reply = await this.#parts.store.controls()
      if (this.#isStopped()) return
      this.#follow(reply)
    } catch (error) {
      if (this.#isStopped()) return
      this.#parts.onFailure(error)
    }
    const isAgain = this.#state === 'again'
    this.#state = 'idle'
    if (isAgain) this.look()
  }

  #isStopped(): boolean {
    return this.#state === 'stopped'
  }

  #follow({ now, controls }: ControlsReply): void {
    this.#paused = new Map(
      controls.flatMap(({ topic, pausedUntil }) => (pausedUntil === undefined ? [] : [[topic, pausedUntil]])),
    )
    this.#giveBack(now)
    this.#parts.book.note(this, this.#paused)
    this.#lookAgainAt(Math.min(...this.#paused.values()), now)
  }

  #giveBack(now: number): void {
    const { consumers, lanes, source } = this.#parts
    if (this.#paused.size === 0) return
    const isAll = this.#paused.has(WHOLE_QUEUE)
    for (const lane of lanes.all)
      if (isAll || this.#paused.has(lane.topic)) consumers.pause(lane, source, now)
  }

  #lookAgainAt(at: number, now: number): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (at >= FOREVER) return
    // A millisecond more: the store rounds its clock.
    const ms = Math.min(Math.max(0, at - now) + 1, TIMER_MS_MAX)
    this.#timer = this.#parts.clock.schedule(ms, () => this.look())
  }
}

type Pauses = ReadonlyMap<string, number>

/** What is paused in any partition, and until when in the last of them: told when it changes. */
export class PauseBook {
  readonly #events: Events
  readonly #byPartition = new Map<Controls, Pauses>()
  #known: Pauses = new Map()

  constructor(events: Events) {
    this.#events = events
  }

  note(partition: Controls, paused: Pauses): void {
    this.#byPartition.set(partition, paused)
    const before = this.#known
    this.#known = latest([...this.#byPartition.values()])
    for (const [topic, until] of this.#known) {
      // The same pause ends at slightly different moments where clocks differ.
      const isKnown = before.has(topic) && (before.get(topic) === until || this.#byPartition.size > 1)
      if (!isKnown) this.#events.emit('paused', { ...about(topic), ...(until === FOREVER ? {} : { until }) })
    }
    for (const topic of before.keys()) if (!this.#known.has(topic)) this.#events.emit('resumed', about(topic))
  }
}

function latest(all: readonly Pauses[]): Pauses {
  const [first = new Map<string, number>(), ...others] = all
  if (others.length === 0) return first
  const merged = new Map(first)
  for (const paused of others)
    for (const [topic, until] of paused) merged.set(topic, Math.max(until, merged.get(topic) ?? 0))
  return merged
}

function about(topic: string): { topic?: string } {
  return topic === WHOLE_QUEUE ? {} : { topic }
}
