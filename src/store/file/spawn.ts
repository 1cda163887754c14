/**
 * Starts the thread of a file store. The address is written out where the thread is made, because bundlers look for
 * exactly this; webpack then bundles the thread's file by itself, others must be told (docs/file.md).
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { UsageError } from '../../core/errors.ts'
import type { ThreadData } from '../thread/protocol.ts'
import type { FileEngineOptions } from './file-engine.ts'

export function spawnFileThread(workerData: ThreadData<FileEngineOptions>): Worker {
  refuseMissing(new URL('./file-thread.js', import.meta.url))
  return new Worker(new URL('./file-thread.js', import.meta.url), {
    workerData,
    name: 'punctual file store',
    // Node 22 says of its SQLite that it is experimental. Flags of the main program are not meant for this file.
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
}

function refuseMissing(url: URL): void {
  if (url.protocol !== 'file:' || existsSync(url)) return
  const file = fileURLToPath(url)
  throw new UsageError(
    'STORE_CLIENT_MISSING',
    `${file} is missing: the program was bundled without it. Keep punctual out of the bundle, or put its file-thread.js there (docs/file.md).`,
    { value: file },
  )
}
