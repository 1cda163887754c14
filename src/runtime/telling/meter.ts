/**
 * What this process has done with one queue, in counters: messages by topic, events, calls to the store. Only additions
 * here, because it is on the way of every message; `queue/looking/metrics` reads it when somebody asks.
 */
import {
  DURATION_BOUNDS_MS,
  Histogram,
  LATENESS_BOUNDS_MS,
  STORE_CALL_BOUNDS_MS,
} from '../../core/metrics/histogram.ts'
import { TOPIC_LABELS_MAX } from '../../core/metrics/catalogue.ts'
import { OTHER_TOPICS } from '../../core/metrics/figures.ts'
import type { NewMessage, PutResult } from '../../store/contract/store.ts'
import type { StoreVerb } from '../../store/contract/verbs.ts'

export type EndKind = 'completed' | 'failed' | 'dead' | 'skipped'
export type CountedEvent = 'late' | 'lost' | 'snoozed' | 'postponed' | 'cancelled' | 'error'

export class TopicMeter {
  produced = 0
  readonly ended: Record<EndKind, number> = { completed: 0, failed: 0, dead: 0, skipped: 0 }
  readonly lateness = new Histogram(LATENESS_BOUNDS_MS)
  readonly duration = new Histogram(DURATION_BOUNDS_MS)

  /** Times of an attempt that was started. */
  end(kind: EndKind, latenessMs: number | undefined, durationMs: number): void {
    this.ended[kind] += 1
    if (latenessMs === undefined) return
    this.lateness.add(latenessMs)
    this.duration.add(durationMs)
  }
}

export class QueueMeter {
  /** Those beyond the first are added up under `OTHER_TOPICS`. */
  readonly topics = new Map<string, TopicMeter>()
  readonly events: Record<CountedEvent, number> = {
    late: 0,
    lost: 0,
    snoozed: 0,
    postponed: 0,
    cancelled: 0,
    error: 0,
  }
  readonly storeCalls = new Map<StoreVerb, Histogram>()
  /** By verb, then by the code of the error. */
  readonly storeErrors = new Map<StoreVerb, Map<string, number>>()

  topic(name: string): TopicMeter {
    const known = this.topics.get(name)
    if (known !== undefined) return known
    if (this.topics.size >= TOPIC_LABELS_MAX && name !== OTHER_TOPICS) return this.topic(OTHER_TOPICS)
    const made = new TopicMeter()
    this.topics.set(name, made)
    return made
  }

  /** Some events are counted, most are not. */
  happened(event: string): void {
    if (isCounted(this.events, event)) this.events[event] += 1
  }

  produced(messages: readonly NewMessage[], results: readonly PutResult[]): void {
    for (let i = 0; i < messages.length; i += 1)
      if (results[i] !== 'duplicate') this.topic((messages[i] as NewMessage).topic).produced += 1
  }

  called(verb: StoreVerb, ms: number): void {
    let calls = this.storeCalls.get(verb)
    if (calls === undefined) {
      calls = new Histogram(STORE_CALL_BOUNDS_MS)
      this.storeCalls.set(verb, calls)
    }
    calls.add(ms)
  }

  failed(verb: StoreVerb, code: string): void {
    const codes = this.storeErrors.get(verb) ?? new Map<string, number>()
    this.storeErrors.set(verb, codes.set(code, (codes.get(code) ?? 0) + 1))
  }
}

function isCounted(counts: Readonly<Record<CountedEvent, number>>, event: string): event is CountedEvent {
  return event in counts
}
