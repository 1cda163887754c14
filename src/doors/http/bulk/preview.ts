/**
 * Before many are changed: how many that would be, and which, for example. Counted where the store can count; else looked
 * through, up to 10,000 or a second: then it is "at least".
 */
import { sleep } from '../../../clock.ts'
import { DELAY_MS_MAX } from '../../../core/input/duration.ts'
import { parseList } from '../../../core/input/questions.ts'
import type { Punctual, StoredMessage } from '../../../index.ts'
import { listStored } from '../../../queue/looking/inspection.ts'
import type { ServerParts } from '../parts.ts'
import type { Served } from '../served.ts'
import { filterOf, momentOf, type AskedBulk, type BulkAction, type BulkFilter } from './asked.ts'
import { idsOfGroup } from './dead-groups.ts'

export type MatchCount = { readonly matches: number; readonly isAtLeast: boolean }

const COUNTED_MAX = 10_000
const COUNT_MS = 1_000
const SAMPLE = 5

export async function countMatches(
  server: ServerParts,
  served: Served,
  asked: AskedBulk,
): Promise<MatchCount> {
  const { filter, action } = asked
  const counted = await countInStore(server, served, action, filter)
  if (counted === undefined) return lookThrough(server, served, asked)
  return { matches: Math.min(counted, filter.limit ?? Infinity), isAtLeast: false }
}

/** Undefined: the store has no count for such a filter. */
async function countInStore(
  { clock }: ServerParts,
  served: Served,
  action: BulkAction,
  filter: BulkFilter,
): Promise<number | undefined> {
  const { ids, state, topic, tag, key, olderThan, dueFrom, dueUntil, idPrefix, text, group } = filter
  if ([ids, tag, key, olderThan, idPrefix, text, group].some((part) => part !== undefined)) return undefined
  const isDead = state === 'dead' || (state === undefined && action === 'revive')
  if (isDead) {
    if (dueFrom !== undefined || dueUntil !== undefined) return undefined
    const { counts, topics, missing } = await served.queue.stats({
      topics: topic === undefined ? [] : [topic],
    })
    if (missing !== undefined) return undefined // Looking through all of them names those that did not answer.
    return topic === undefined ? counts.dead : (topics[topic]?.dead ?? 0)
  }
  if (state === 'running' || (state === undefined && action === 'purge')) return undefined
  const now = Math.floor(clock.now())
  const from = Math.max(dueFrom ?? 0, state === 'delayed' ? now : 0)
  const until = Math.min(dueUntil ?? now + 2 * DELAY_MS_MAX, state === 'ready' ? now : Infinity)
  if (until <= from) return 0
  const store = await served.open()
  const about = topic === undefined ? {} : { topic }
  const { counts, isExact, missing } = await store.forecast({ edges: [from, until], ...about })
  return isExact && missing === undefined ? (counts[0] ?? 0) : undefined
}

async function lookThrough(server: ServerParts, served: Served, asked: AskedBulk): Promise<MatchCount> {
  const { clock } = server
  const enough = new AbortController()
  const limit = Math.min(asked.filter.limit ?? Infinity, COUNTED_MAX + 1)
  const waited = new AbortController()
  const cap = sleep(clock, COUNT_MS, waited.signal).then(() => enough.abort())
  let isCut = false
  enough.signal.addEventListener('abort', () => {
    isCut = !waited.signal.aborted
  })
  try {
    const matches =
      asked.filter.group === undefined
        ? await dryRun(served.queue, asked, limit, enough.signal)
        : await countGroup(server, served, asked.filter, { limit, signal: enough.signal })
    return { matches: Math.min(matches, COUNTED_MAX), isAtLeast: isCut || matches > COUNTED_MAX }
  } finally {
    waited.abort()
    await cap
  }
}

async function dryRun(
  queue: Punctual,
  asked: AskedBulk,
  limit: number,
  signal: AbortSignal,
): Promise<number> {
  const { ids } = asked.filter
  const filter = ids === undefined ? { ...filterOf(asked.filter), limit } : filterOf(asked.filter)
  const options = { dryRun: true, signal }
  switch (asked.action) {
    case 'cancel':
      return (await queue.cancel(filter, options)).cancelled
    case 'reschedule':
      return (await queue.reschedule(filter, momentOf(asked), options)).rescheduled
    case 'revive':
      return queue.revive(filter, options)
    case 'purge':
      return queue.purge(filter, options)
    default:
      throw new Error('an action was forgotten')
  }
}

async function countGroup(
  { clock }: ServerParts,
  served: Served,
  { topic, group = '' }: BulkFilter,
  { limit, signal }: { readonly limit: number; readonly signal: AbortSignal },
): Promise<number> {
  let count = 0
  const about = topic === undefined ? {} : { topic }
  for await (const { ids } of idsOfGroup(await served.open(), { ...about, key: group, now: clock.now() })) {
    count += ids.length
    if (signal.aborted || count >= limit) break
  }
  return Math.min(count, limit)
}

/** Up to five that fit. */
export async function sampleMatches(
  { clock }: ServerParts,
  served: Served,
  { action, filter }: AskedBulk,
): Promise<readonly StoredMessage[]> {
  const store = await served.open()
  const { ids, limit: _, group, ...search } = filter
  const now = clock.now()
  if (ids !== undefined) return (await store.inspect({ ids: ids.slice(0, SAMPLE) })).items
  if (group !== undefined) {
    const about = search.topic === undefined ? {} : { topic: search.topic }
    for await (const page of idsOfGroup(store, { ...about, key: group, now }))
      if (page.ids.length > 0) return (await store.inspect({ ids: page.ids.slice(0, SAMPLE) })).items
    return []
  }
  const state = search.state ?? (action === 'revive' ? 'dead' : undefined)
  const parsed = parseList({ ...search, ...(state === undefined ? {} : { state }), limit: SAMPLE }, now)
  return (await listStored(store, parsed)).items
}
