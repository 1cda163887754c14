/**
 * One thread for a directory and process: calls of all queues in it share commits, and SQLite's locks belong to the
 * process. Every store handle on the same directory shares it; the last to leave ends it.
 */
import { realpath } from 'node:fs/promises'
import { UsageError } from '../../core/errors.ts'
import { EngineThread, endsWithin } from '../thread/proxy.ts'
import type { Wake } from '../thread/protocol.ts'
import type { SyncMode } from './directory.ts'
import { closedError, explainFailure } from './failure.ts'
import type { FileEngineOptions } from './on-thread.ts'
import { makeDirectory } from './make-directory.ts'
import { explainDeath, spawnFileThread } from './spawn.ts'
import type { WakeChannel } from './wake.ts'

/** The longest wait for the lock of another process, or for the disk. */
export const CALL_MS_MAX = 5000
/** How long the end of calls, and then of the thread, is waited for. */
const CLOSE_MS_MAX = 1000
/** A copy or a check of a large store takes its time. */
const ASIDE_MS_MAX = 30 * 60_000

export type FileThread = {
  readonly directory: string
  readonly sync: SyncMode
  readonly engine: EngineThread<FileEngineOptions>
  readonly channels: Set<WakeChannel>
  handles: number
}

const open = new Map<string, FileThread>()
/** Directories on their way out: who wants one of them again waits for the end. */
const closing = new Map<string, Promise<void>>()

export async function acquireThread(given: string, sync: SyncMode): Promise<FileThread> {
  const directory = await realDirectory(given)
  while (closing.has(directory)) await closing.get(directory)
  const thread = open.get(directory) ?? startThread(directory, sync)
  if (thread.sync !== sync) {
    throw new UsageError(
      'OPTION_INVALID',
      `${directory} is already open in this process with sync=${thread.sync}; use the same here.`,
      { value: sync },
    )
  }
  open.set(directory, thread)
  thread.handles += 1
  return thread
}

/** What this holder has under way ends first, or is given up. */
export async function releaseThread(thread: FileThread, holder: object): Promise<void> {
  if (!(await endsWithin(CLOSE_MS_MAX, thread.engine.idle(holder))))
    thread.engine.giveUp(holder, closedError())
  thread.handles -= 1
  if (thread.handles > 0) return
  open.delete(thread.directory)
  const end = thread.engine.end(CLOSE_MS_MAX).finally(() => closing.delete(thread.directory))
  closing.set(thread.directory, end)
  await end
}

/** For what takes long: a thread of its own, which ends with it. */
export async function callAside<T>(
  { directory, sync }: FileThread,
  queue: string,
  verb: string,
  args: readonly unknown[],
): Promise<T> {
  const engine = newEngine(directory, sync, ASIDE_MS_MAX, () => {})
  try {
    return await engine.call<T>(engine, { queue, verb, args, entries: 1, bytes: 0, now: undefined })
  } finally {
    await engine.end(CLOSE_MS_MAX)
  }
}

function startThread(directory: string, sync: SyncMode): FileThread {
  const channels = new Set<WakeChannel>()
  const wake = (wakes: readonly Wake[]): void => {
    for (const heard of wakes) for (const channel of channels) channel.hear(heard)
  }
  return { directory, sync, engine: newEngine(directory, sync, CALL_MS_MAX, wake), channels, handles: 0 }
}

function newEngine(
  directory: string,
  sync: SyncMode,
  callMs: number,
  onWakes: (wakes: readonly Wake[]) => void,
): EngineThread<FileEngineOptions> {
  return new EngineThread({
    spawn: spawnFileThread,
    explainDeath,
    options: { directory, sync },
    callMs,
    onWakes,
  })
}

/** One name per directory, however it was written. */
async function realDirectory(given: string): Promise<string> {
  await makeDirectory(given)
  try {
    return await realpath(given)
  } catch (error) {
    throw explainFailure(error, given)
  }
}
