/** Copying a store while it is in use, where its engine can. */
import { UsageError } from '../core/errors.ts'
import type { Store } from '../store/contract/store.ts'

export async function backup(store: Store, directory: string): Promise<void> {
  if (store.backup !== undefined) return store.backup(directory)
  throw new UsageError(
    'UNSUPPORTED',
    `the ${store.capabilities.engine} engine has no backup of its own; use the tools of its server (Redis: redis-cli --rdb FILE).`,
    { value: store.capabilities.engine },
  )
}
