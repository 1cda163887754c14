/** A store whose calls are counted and timed. Calls are batches: what this costs is shared by many messages. */
import type { Clock } from '../../clock.ts'
import type { Partitions, Store } from '../../store/contract/store.ts'
import { StoreWrapper, type StoreVerb } from '../../store/contract/verbs.ts'
import type { QueueMeter } from './meter.ts'

/** Of an open store: only then it knows its partitions. */
export function meterStore(store: Store, meter: QueueMeter, clock: Clock): Store {
  return new MeteredStore(store, meter, clock)
}

class MeteredStore extends StoreWrapper {
  override readonly partitions?: Partitions
  readonly #meter: QueueMeter
  readonly #clock: Clock

  constructor(inner: Store, meter: QueueMeter, clock: Clock) {
    super(inner)
    this.#meter = meter
    this.#clock = clock
    if (inner.partitions === undefined) return
    const { stores, homeOf } = inner.partitions
    this.partitions = { stores: stores.map((one) => meterStore(one, meter, clock)), homeOf }
  }

  override around<T>(verb: StoreVerb, _args: readonly unknown[], call: () => Promise<T>): Promise<T> {
    const begunAt = this.#clock.monotonic()
    const answer = call()
    const ended = (): void => this.#meter.called(verb, this.#clock.monotonic() - begunAt)
    answer.then(ended, (error: unknown) => {
      ended()
      this.#meter.failed(verb, codeOf(error))
    })
    return answer
  }
}

function codeOf(error: unknown): string {
  const hasCode = typeof error === 'object' && error !== null && 'code' in error
  return hasCode && typeof error.code === 'string' ? error.code : 'UNEXPECTED'
}
