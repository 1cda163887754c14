/** The queues of a server, by the names of their keys. */
import type { QueueList, QueuesContext } from '../engine.ts'
import type { ExistingClient } from './address/client.ts'
import { linkTo } from './open.ts'
import type { Calls } from './scripts/calls.ts'
import { QUEUE_KEY_PATTERN, queueOfKey } from './scripts/keys.ts'

/** A queue has a dozen keys whatever it holds, so a server of its own is looked through in one or two steps. */
const SCAN_COUNT = 1_000
const SCANS_MAX = 200

/** Looks at about 200,000 keys at most, in steps that each cost the server less than a millisecond. */
export async function listQueues(
  target: string | ExistingClient,
  context: QueuesContext,
): Promise<QueueList> {
  const link = linkTo(target, 'punctual:queues', context)
  try {
    const { names, isComplete } = await scanNames(link, QUEUE_KEY_PATTERN, queueOfKey)
    return { names: [...names].toSorted(), isComplete }
  } finally {
    link.close()
  }
}

export async function scanNames(
  calls: Calls,
  pattern: string,
  nameOf: (key: string) => string | undefined,
): Promise<{ readonly names: ReadonlySet<string>; readonly isComplete: boolean }> {
  const names = new Set<string>()
  let cursor = '0'
  for (let scans = 0; scans < SCANS_MAX; scans += 1) {
    const reply = await calls.call(['SCAN', cursor, 'MATCH', pattern, 'COUNT', String(SCAN_COUNT)])
    const [next, keys] = reply as readonly [string, readonly string[]]
    for (const key of keys) {
      const name = nameOf(key)
      if (name !== undefined) names.add(name)
    }
    cursor = next
    if (cursor === '0') break
  }
  return { names, isComplete: cursor === '0' }
}
