/**
 * Starts the thread of a file store. The address is written out where the thread is made, and the module has no "node:"
 * before its name, because webpack looks for exactly this and then bundles the thread's file by itself. Other bundlers
 * must be told (docs/file.md).
 */
// oxlint-disable-next-line unicorn/prefer-node-protocol
import { Worker } from 'worker_threads'
import { UnavailableError, UsageError, errorCode, type PunctualError } from '../../core/errors.ts'
import type { ThreadData } from '../thread/protocol.ts'
import type { FileEngineOptions } from './on-thread.ts'

export function spawnFileThread(workerData: ThreadData<FileEngineOptions>): Worker {
  assertIsModule(import.meta.url)
  assertTakesMessages()
  return new Worker(new URL('./file-thread.js', import.meta.url), {
    workerData,
    name: 'punctual-file',
    // Node 22 says of its SQLite that it is experimental. Flags of the main program are not meant for this file.
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
}

/** What ended the thread, in words that say what to do. */
export function explainDeath(cause: Error): PunctualError {
  const code = errorCode(cause)
  if (code !== 'MODULE_NOT_FOUND' && code !== 'ERR_MODULE_NOT_FOUND') {
    return new UnavailableError('STORE_UNAVAILABLE', `the thread of the store ended: ${cause.message}`, {
      cause,
    })
  }
  return bundledWithout(cause.message, cause)
}

/** The thread takes the calls that arrive while it works; the `parentPort` of Deno cannot be asked for them. */
function assertTakesMessages(): void {
  if (!('deno' in process.versions)) return
  throw new UsageError(
    'UNSUPPORTED',
    'Deno cannot run the thread of the file engine; use another engine there, or Node or Bun.',
  )
}

/** Bundlers that write CommonJS leave it empty: then there is no place to look for a file beside this one. */
function assertIsModule(url: string | undefined): void {
  if (url === undefined || url === '') throw bundledWithout('a bundle in CommonJS')
}

function bundledWithout(what: string, cause?: Error): UsageError {
  return new UsageError(
    'STORE_CLIENT_MISSING',
    `the program was bundled without the file of the store's thread (${what}). Keep punctual out of the bundle, or put its file-thread.js beside it (docs/file.md).`,
    { cause },
  )
}
