/**
 * The store, opened on first use. Callers that ask meanwhile share the one opening; after one that failed, the next
 * caller tries again. A store that the user made stays open at the end: its maker closes it.
 */
import type { Store } from '../store/contract/store.ts'

/** `onOpen` answers with the store as its users see it. */
export class Opening {
  readonly #make: () => Promise<Store>
  readonly #isOurs: boolean
  readonly #onOpen: (store: Store) => Store
  #store: Promise<Store> | undefined

  constructor(make: () => Promise<Store>, isOurs: boolean, onOpen: (store: Store) => Store) {
    this.#make = make
    this.#isOurs = isOurs
    this.#onOpen = onOpen
  }

  open(): Promise<Store> {
    this.#store ??= this.#open().catch((error: unknown) => {
      this.#store = undefined
      throw error
    })
    return this.#store
  }

  async close(): Promise<void> {
    const opening = this.#store
    if (opening === undefined || !this.#isOurs) return
    const store = await opening.catch(() => undefined) // One that never opened needs no closing.
    await store?.close()
  }

  async #open(): Promise<Store> {
    const store = await this.#make()
    try {
      await store.open()
    } catch (error) {
      if (this.#isOurs) await store.close()
      throw error
    }
    return this.#onOpen(store)
  }
}
