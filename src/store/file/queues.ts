/** The queues of a directory: the table that gives each its number. */
import type { QueueList, QueuesContext } from '../engine.ts'
import { acquireEnvironment, releaseEnvironment } from './environment.ts'
import { queueKey } from './keys.ts'
import { fileStoreExists, parseFileTarget } from './open.ts'

const NAMES_MAX = 10_000

export async function listQueues(url: string, { logger }: QueuesContext): Promise<QueueList> {
  if (!fileStoreExists(url)) return { names: [], isComplete: true }
  const { directory, sync } = parseFileTarget(url)
  const environment = await acquireEnvironment(directory, sync, logger)
  try {
    environment.tree.refresh()
    const start = queueKey('')
    // No name begins with the byte 0xff, which UTF-8 does not have.
    const range = { start, end: Buffer.concat([start, Buffer.of(0xff)]) }
    const names = environment.tree.keys(range, NAMES_MAX + 1).map((key) => key.toString('utf8', start.length))
    return { names: names.slice(0, NAMES_MAX).toSorted(), isComplete: names.length <= NAMES_MAX }
  } finally {
    await releaseEnvironment(environment)
  }
}
