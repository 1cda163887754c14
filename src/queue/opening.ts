/**
 * The store, opened on first use, and the producer that goes with it. Callers that ask meanwhile share the one opening; after
 * one that failed, the next caller tries again. A store that the user made stays open at the end: its maker closes it.
 */
import { invariant } from '../core/errors.ts'
import { Producer } from '../runtime/producer.ts'
import type { QueueMeter } from '../runtime/telling/meter.ts'
import { meterStore } from '../runtime/telling/metered-store.ts'
import type { Store } from '../store/contract/store.ts'
import type { Settings } from './settings.ts'

export class Opening {
  readonly #make: () => Promise<Store>
  readonly #settings: Settings
  readonly #meter: QueueMeter
  #store: Promise<Store> | undefined
  #producer: Producer | undefined

  constructor(make: () => Promise<Store>, settings: Settings, meter: QueueMeter) {
    this.#make = make
    this.#settings = settings
    this.#meter = meter
  }

  /** Undefined until the store is open. */
  get producer(): Producer | undefined {
    return this.#producer
  }

  /** Answers with the store as its users see it: its calls are counted. */
  open(): Promise<Store> {
    this.#store ??= this.#open().catch((error: unknown) => {
      this.#store = undefined
      throw error
    })
    return this.#store
  }

  async openProducer(): Promise<Producer> {
    await this.open()
    invariant(this.#producer !== undefined, 'an open store has a producer')
    return this.#producer
  }

  async close(): Promise<void> {
    const opening = this.#store
    if (opening === undefined || !this.#isOurs) return
    const store = await opening.catch(() => undefined) // One that never opened needs no closing.
    await store?.close()
  }

  get #isOurs(): boolean {
    return this.#settings.store.kind === 'made'
  }

  async #open(): Promise<Store> {
    const store = await this.#make()
    try {
      await store.open()
    } catch (error) {
      if (this.#isOurs) await store.close()
      throw error
    }
    const { clock, random } = this.#settings
    const metered = meterStore(store, this.#meter, clock)
    this.#producer = new Producer(metered, clock, random, this.#meter)
    return metered
  }
}
