/** Opens a store as a queue does, and closes it with the test. Resolves to what it was refused with; undefined: it is open. */
import { onTestFinished } from 'vitest'
import { engineForUrl } from '../../src/store/engines.ts'
import { context, freshQueue } from './redis/stores.ts'

export async function openingAt(url: string): Promise<unknown> {
  const store = await engineForUrl(url).open(url, context(freshQueue()), {})
  onTestFinished(() => store.close())
  return store.open().catch((error: unknown) => error)
}
