/** How calls of `produce` become calls of the store. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { Punctual } from '../../src/index.ts'
import type { NewMessage, PutResult, Store } from '../../src/store/contract/store.ts'
import { sizeOfMessage } from '../../src/store/contract/sizes.ts'
import { StoreWrapper } from '../../src/store/contract/verbs.ts'
import { MemoryStore } from '../../src/store/memory/store.ts'

const BATCH_BYTES = 10_000

/** Remembers each put and answers when it is told to. */
class SlowStore extends StoreWrapper {
  readonly puts: (readonly NewMessage[])[] = []
  bytesUnderWay = 0
  bytesUnderWayMost = 0
  #gate: Promise<void> = Promise.resolve()
  #open: (() => void) | undefined

  constructor() {
    super(new MemoryStore(systemClock), { batchMax: 100, batchBytesMax: BATCH_BYTES })
  }

  /** Answers nothing before `release`. */
  hold(): void {
    this.#gate = new Promise((resolve) => (this.#open = resolve))
  }

  release(): void {
    this.#open?.()
  }

  override async put(messages: readonly NewMessage[]): Promise<PutResult[]> {
    this.puts.push(messages)
    const bytes = messages.reduce((sum, message) => sum + sizeOfMessage(message), 0)
    this.bytesUnderWay += bytes
    this.bytesUnderWayMost = Math.max(this.bytesUnderWayMost, this.bytesUnderWay)
    await this.#gate
    this.bytesUnderWay -= bytes
    return this.inner.put(messages)
  }
}

async function makeQueue(): Promise<{ queue: Punctual; store: SlowStore }> {
  const store = new SlowStore()
  const queue = new Punctual({ store: store as Store })
  onTestFinished(async () => void (await queue.stop()))
  await queue.produce('warm', 1) // The store is open.
  store.puts.length = 0
  return { queue, store }
}

const sizes = ({ puts }: SlowStore): number[] => puts.map((messages) => messages.length)

describe('produce', () => {
  it('the calls of one turn are one put', async () => {
    const { queue, store } = await makeQueue()
    await Promise.all(Array.from({ length: 20 }, (_, i) => queue.produce('t', i)))
    expect(sizes(store)).toEqual([20])
  })

  it('the 50th of a turn sends at once, the rest goes at its end, cut by entries', async () => {
    const { queue, store } = await makeQueue()
    const calls = Array.from({ length: 200 }, (_, i) => queue.produce('t', i))
    expect(sizes(store)).toEqual([50]) // The turn is not over.
    await Promise.all(calls)
    expect(sizes(store)).toEqual([50, 100, 50])
    expect(store.puts.flat().map(({ body }) => Number(body))).toEqual(
      Array.from({ length: 200 }, (_, i) => i),
    )
  })

  it('P10: batches are cut by bytes, and what is larger than a batch goes alone', async () => {
    const { queue, store } = await makeQueue()
    const bodies = [4_000, 4_000, 4_000, 5 * BATCH_BYTES, 10] // One is more than may ever be under way with others.
    await Promise.all(bodies.map((length) => queue.produce('t', 'x'.repeat(length))))
    expect(sizes(store)).toEqual([2, 1, 1, 1])
    store.puts.length = 0
    await queue.produceMany(bodies.map((length) => ({ topic: 't', payload: 'x'.repeat(length) })))
    expect(sizes(store)).toEqual([2, 1, 1, 1])
  })

  it('P10: only so many bytes are on their way at once; the others wait, keep their order, and are sent', async () => {
    const { queue, store } = await makeQueue()
    store.hold()
    const calls = Array.from({ length: 40 }, (_, i) => queue.produce('t', `${i}:${'x'.repeat(9_000)}`))
    await new Promise((resolve) => setImmediate(resolve))
    expect(store.puts.length).toBe(4)
    store.release()
    await Promise.all(calls)
    expect(store.bytesUnderWayMost).toBeLessThanOrEqual(4 * BATCH_BYTES)
    const order = store.puts.flat().map(({ body }) => Number.parseInt(JSON.parse(body) as string, 10))
    expect(order).toEqual(Array.from({ length: 40 }, (_, i) => i))
  })

  it('stop waits for what waits for its turn', async () => {
    const { queue, store } = await makeQueue()
    store.hold()
    const calls = Array.from({ length: 40 }, () => queue.produce('t', 'x'.repeat(9_000)))
    await new Promise((resolve) => setImmediate(resolve))
    const stopping = queue.stop()
    store.release()
    await Promise.all(calls)
    expect((await stopping).errors).toEqual([])
  })
})
