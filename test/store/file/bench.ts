/** What the tests of the file engine share: directories that come and go, and stores opened in them. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock, type Clock } from '../../../src/clock.ts'
import type { Logger } from '../../../src/core/log.ts'
import { systemRandom } from '../../../src/random.ts'
import type { SyncMode } from '../../../src/store/file/directory.ts'
import { FileStore } from '../../../src/store/file/store.ts'

export const silent: Logger = { warn() {}, error() {} }

export type TemporaryDirectory = { readonly directory: string; readonly remove: () => Promise<void> }

export async function temporaryDirectory(): Promise<TemporaryDirectory> {
  const directory = await mkdtemp(path.join(tmpdir(), 'punctual-file-'))
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) }
}

export type OpenOptions = { readonly clock?: Clock; readonly queue?: string; readonly sync?: SyncMode }

export function makeStore(directory: string, options: OpenOptions = {}): FileStore {
  const { clock = systemClock, queue = 'orders', sync = 'full' } = options
  return new FileStore({ directory, sync }, { queue, clock, random: systemRandom, logger: silent })
}

export async function openStore(directory: string, options: OpenOptions = {}): Promise<FileStore> {
  const store = makeStore(directory, options)
  await store.open()
  return store
}
