/** Producers and a worker on one queue, in this process, that go on while servers die and return. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Punctual } from '../../src/index.ts'
import type { DurabilityOption } from '../../src/store/engines.ts'
import { Ledger, type Purpose } from './ledger.ts'

const PRODUCERS = 6
const PAUSE_MS = 4
const DAYS = '3d'

export class Load {
  readonly ledger = new Ledger()
  readonly #queue: Punctual
  readonly #prefix: string
  #isOver = false
  #producing: Promise<unknown> = Promise.resolve()
  #made = 0

  constructor(store: string, queue: string, durability: DurabilityOption) {
    this.#prefix = queue
    this.#queue = new Punctual({
      store,
      queue,
      durability,
      logger: false,
      lease: '2s',
      fallback: '500ms',
      concurrency: 50,
      retry: { delays: ['50ms'], limit: 100_000 },
    })
    this.#queue.handle('t', async ({ id }) => {
      this.ledger.start(id)
      await sleep(3)
    })
    this.#queue.on('completed', ({ id }) => this.ledger.complete(id))
    this.#queue.on('error', () => undefined)
  }

  async begin(): Promise<void> {
    await this.#queue.start()
    this.#producing = Promise.all(Array.from({ length: PRODUCERS }, () => this.#produceOnAndOn()))
  }

  /** Ends the producers, and waits until everything due was handled; answers what is left in the store. */
  async end(): Promise<Set<string>> {
    this.#isOver = true
    await this.#producing
    for (;;) {
      const isDone = await this.#queue.stats().then(
        ({ counts, topics }) => counts.ready + counts.running === 0 && topics['t'] === undefined,
        () => false,
      )
      if (isDone) return this.#present()
      await sleep(100)
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#queue.stop({ timeout: 0 })
  }

  async #produceOnAndOn(): Promise<void> {
    while (!this.#isOver) {
      this.#made += 1
      const purpose: Purpose = this.#made % 10 === 0 ? 'keep' : this.#made % 10 === 5 ? 'cancel' : 'run'
      try {
        await this.#produceOne(`${this.#prefix}-${this.#made}`, purpose)
      } catch (error) {
        this.ledger.refuse(error)
      }
      await sleep(PAUSE_MS)
    }
  }

  async #produceOne(id: string, purpose: Purpose): Promise<void> {
    // What is due in days has a topic of its own, so that one sees when nothing else is left.
    if (purpose === 'run') await this.#queue.produce('t', id, { id, delay: (this.#made * 37) % 200 })
    else await this.#queue.produce('later', id, { id, delay: DAYS })
    this.ledger.accept(id, purpose)
    if (purpose === 'cancel' && (await this.#queue.cancel(id)) === 'cancelled') this.ledger.cancel(id)
  }

  async #present(): Promise<Set<string>> {
    const ids = new Set<string>()
    for (let cursor: string | undefined; ;) {
      const page = await this.#queue.list({
        state: 'delayed',
        limit: 500,
        ...(cursor === undefined ? {} : { cursor }),
      })
      for (const { id } of page.items) ids.add(id)
      cursor = page.cursor
      if (cursor === undefined) return ids
    }
  }
}
