/**
 * Counts what ended, topic by topic, and adds it to the figures of the store: at most once a second, and at the end.
 * Figures whose call fails are dropped: told again they might be counted twice.
 */
import type { Clock, Timer } from '../../clock.ts'
import { bucketOf } from '../../core/metrics/lateness.ts'
import type { Store, TopicFigures } from '../../store/contract/store.ts'
import type { EndKind, QueueMeter, TopicMeter } from './meter.ts'

const RECORD_MS = 1_000

type EndedTally = Record<EndKind, number> & {
  readonly lateness: Map<number, number>
  /** Of this process, and not only of this second. */
  readonly meter: TopicMeter
}

export type FiguresParts = {
  readonly clock: Clock
  readonly store: Store
  readonly meter: QueueMeter
  readonly onFailure: (error: unknown) => void
}

export class Figures {
  readonly #parts: FiguresParts
  #isEnded = false
  #topics = new Map<string, EndedTally>()
  #timer: Timer | undefined
  #underWay: Promise<void> | undefined

  constructor(parts: FiguresParts) {
    this.#parts = parts
  }

  /** `latenessMs` of one that was started, and how long it took. */
  add(topic: string, kind: EndKind, latenessMs: number | undefined, durationMs: number): void {
    if (this.#isEnded) return
    let tally = this.#topics.get(topic)
    if (tally === undefined) {
      tally = {
        completed: 0,
        failed: 0,
        dead: 0,
        skipped: 0,
        lateness: new Map(),
        meter: this.#parts.meter.topic(topic),
      }
      this.#topics.set(topic, tally)
    }
    tally[kind] += 1
    tally.meter.end(kind, latenessMs, durationMs)
    if (latenessMs !== undefined) {
      const bucket = bucketOf(latenessMs)
      tally.lateness.set(bucket, (tally.lateness.get(bucket) ?? 0) + 1)
    }
    this.#timer ??= this.#parts.clock.schedule(RECORD_MS, () => void this.flush())
  }

  /** Sends what there is; resolves when that, and what was under way, is answered. Never rejects. */
  async flush(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    const figures = [...this.#topics].map(([topic, tally]) => figuresOf(topic, tally))
    this.#topics = new Map()
    if (figures.length > 0) this.#underWay = this.#record(figures, this.#underWay)
    await this.#underWay
  }

  /** What comes after this, from answers that arrive late, is dropped. */
  end(): void {
    this.#isEnded = true
    this.#timer?.cancel()
    this.#timer = undefined
  }

  async #record(figures: readonly TopicFigures[], before: Promise<void> | undefined): Promise<void> {
    await before
    const { onFailure, store } = this.#parts
    const { batchMax } = store.capabilities
    try {
      for (let from = 0; from < figures.length; from += batchMax)
        await store.record(figures.slice(from, from + batchMax))
    } catch (error) {
      onFailure(error)
    }
  }
}

function figuresOf(topic: string, tally: EndedTally): TopicFigures {
  const { completed, failed, dead, skipped } = tally
  const lateness = [...tally.lateness].toSorted(([a], [b]) => a - b)
  return { topic, completed, failed, dead, skipped, lateness }
}
