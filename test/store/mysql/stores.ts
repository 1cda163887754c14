/** Stores for tests: a fresh queue each, real timers, and a log that the test may look at. */
import type { Store } from '../../../src/store/contract/store.ts'
import type { MysqlSettings } from '../../../src/store/mysql/address/url.ts'
import { openMysqlStore } from '../../../src/store/mysql/open.ts'
import { context, freshQueue } from '../redis/stores.ts'

export function storeAt(url: string, queue = freshQueue(), settings: MysqlSettings = {}): Store {
  return openMysqlStore(url, context(queue), settings)
}

export { context, freshQueue } from '../redis/stores.ts'
