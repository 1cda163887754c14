/**
 * What lies behind a queue, for the doors of this package: its settings, its store, its producer. Kept beside the queue
 * and not on it, so that users see none of it.
 */
import { InvariantError } from '../core/errors.ts'
import type { Producer } from '../runtime/producer.ts'
import type { Store } from '../store/contract/store.ts'
import type { MetricsParts } from './looking/metrics.ts'
import type { Settings } from './settings.ts'

export type QueueInsides = {
  readonly settings: Settings
  /** Opens the store on first use; rejects once the queue is closed. */
  readonly open: () => Promise<Store>
  readonly openProducer: () => Promise<Producer>
  /** Undefined until the store is open, and once the queue is closed. */
  readonly producer: () => Producer | undefined
  /** What this process has done with the queue, and how to ask for the rest. */
  readonly metrics: MetricsParts
}

const INSIDES = new WeakMap<object, QueueInsides>()

export function showInsides(queue: object, insides: QueueInsides): void {
  INSIDES.set(queue, insides)
}

export function insidesOf(queue: object): QueueInsides {
  const found = INSIDES.get(queue)
  if (found !== undefined) return found
  throw new InvariantError('this queue was made by another copy of the package punctual; use the same one')
}
