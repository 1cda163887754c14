/** A small world for tests: one virtual clock, one store (memory unless told otherwise) behind a line that can fail, and queues on it. */
import { expect, onTestFinished } from 'vitest'
import { Punctual, type PunctualOptions, type QueueEvents, type EventName } from '../../src/index.ts'
import { MemoryStore } from '../../src/store/memory/store.ts'
import type { Capabilities, Store } from '../../src/store/contract/store.ts'
import { FaultyStore, SeededRandom, StrictStore, VirtualClock } from '../../src/testing/index.ts'

export type World = {
  readonly clock: VirtualClock
  /** Without the bad line: what really is in the store. */
  readonly memory: Store
  readonly store: FaultyStore
  readonly queue: (options?: PunctualOptions) => Punctual
}

/** Poses as a store that processes share and whose wake-ups may be lost, as Redis is. */
export const SHARED: Partial<Capabilities> = { wakes: 'hint', shared: true }
/** Lives in this process, as the memory engine does. */
const ALONE: Partial<Capabilities> = { wakes: 'sure', shared: false }
/** Every test runs on both, but those that ask for one of them: see the project `alone` of vitest.config.ts. */
const USUAL = process.env['PUNCTUAL_TEST_WORLD'] === 'alone' ? ALONE : SHARED

export function makeWorld(
  capabilities: Partial<Capabilities> = USUAL,
  makeStore: (clock: VirtualClock) => Store = (clock) => new MemoryStore(clock),
): World {
  const clock = new VirtualClock()
  const memory = makeStore(clock)
  const store = new FaultyStore(memory, clock, capabilities)
  const mistakes: string[] = []
  const strict = new StrictStore(store, (mistake) => mistakes.push(mistake))
  return {
    clock,
    memory,
    store,
    queue: (options) => {
      const random = new SeededRandom(1)
      const queue = new Punctual({ store: strict, clock, random, logger: false, ...options })
      onTestFinished(async () => {
        expect(mistakes, 'calls that the contract forbids').toEqual([])
        store.fate = () => undefined
        const stopping = queue.stop({ timeout: 0 })
        await clock.advance('10s')
        await stopping
      })
      return queue
    },
  }
}

/** Everything that happens, in order. */
export function record(queue: Punctual): { name: EventName; event: QueueEvents[EventName] }[] {
  const seen: { name: EventName; event: QueueEvents[EventName] }[] = []
  const names: EventName[] = [
    'completed',
    'failed',
    'retrying',
    'snoozed',
    'postponed',
    'skipped',
    'dead',
    'late',
    'lost',
    'error',
  ]
  for (const name of names) queue.on(name, (event) => seen.push({ name, event }))
  return seen
}

/** A promise with its ends outside, for handlers that wait until the test lets them go. */
export function gate(): { opened: Promise<void>; open: () => void } {
  const ends: (() => void)[] = []
  const opened = new Promise<void>((resolve) => ends.push(resolve))
  return { opened, open: () => ends[0]?.() }
}
