/** Stores for tests: a fresh queue each, real timers, and a log that the test may look at. */
import { systemClock, type Clock } from '../../../src/clock.ts'
import type { Logger } from '../../../src/core/log.ts'
import { systemRandom } from '../../../src/random.ts'
import { openRedisStore } from '../../../src/store/redis/open.ts'
import type { RedisSettings } from '../../../src/store/redis/address/options.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import type { StoreContext } from '../../../src/store/engine.ts'

let queues = 0

export function freshQueue(): string {
  queues += 1
  return `test-${process.pid}-${queues}`
}

export function context(queue = freshQueue(), clock: Clock = systemClock, log: string[] = []): StoreContext {
  const write = (line: string): void => void log.push(line)
  const logger: Logger = { info: write, warn: write, error: write }
  return { queue, clock, random: systemRandom, logger }
}

export function storeAt(url: string, queue = freshQueue(), settings: RedisSettings = {}): Store {
  return openRedisStore(url, context(queue), settings)
}
