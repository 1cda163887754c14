/** Questions about a whole directory: which queues it has, and its form. */
import type { QueueList } from '../engine.ts'
import { fileStoreExists, parseFileTarget } from './open.ts'
import { acquireThread, releaseThread } from './threads.ts'

const NAMES_MAX = 10_000

/** A queue is there once something was written to it. */
export async function listQueues(url: string): Promise<QueueList> {
  const names = fileStoreExists(url) ? await ask<string[]>(url, 'queues', [NAMES_MAX + 1]) : []
  return { names: names.slice(0, NAMES_MAX), isComplete: names.length <= NAMES_MAX }
}

/** Opening brings the file to the form that this version reads. */
export async function migrateStore(url: string): Promise<undefined> {
  if (fileStoreExists(url)) await ask(url, 'open', [])
  return undefined
}

async function ask<T>(url: string, verb: string, args: readonly unknown[]): Promise<T> {
  const { directory, sync } = parseFileTarget(url)
  const holder = {}
  const thread = await acquireThread(directory, sync)
  try {
    return await thread.engine.call<T>(holder, {
      queue: '',
      verb,
      args,
      entries: 1,
      bytes: 0,
      now: undefined,
    })
  } finally {
    await releaseThread(thread, holder)
  }
}
