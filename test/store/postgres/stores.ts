/** Stores for tests: a fresh queue each, real timers, and a log that the test may look at. */
import type { Store } from '../../../src/store/contract/store.ts'
import { openPostgresStore } from '../../../src/store/postgres/open.ts'
import type { PostgresSettings } from '../../../src/store/postgres/address/url.ts'
import { context, freshQueue } from '../redis/stores.ts'

export function storeAt(url: string, queue = freshQueue(), settings: PostgresSettings = {}): Store {
  return openPostgresStore(url, context(queue), settings)
}

export { context, freshQueue } from '../redis/stores.ts'
