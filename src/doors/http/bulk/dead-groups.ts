/** Dead messages, grouped by topic, reason and the first line of their error: what went wrong, and how often. */
import { createHash } from 'node:crypto'
import { parseList } from '../../../core/input/questions.ts'
import type { Store, StoredMessage } from '../../../index.ts'
import { Gaps } from '../../../queue/looking/gaps.ts'
import { listStored } from '../../../queue/looking/inspection.ts'
import { firstLine } from '../../shared/printable.ts'

export type DeadGroup = {
  readonly key: string
  readonly topic: string
  readonly reason: string
  readonly error: string
  readonly count: number
  readonly firstDiedAt: number
  readonly lastDiedAt: number
  readonly sample: readonly string[]
}

export type DeadGroupPage = {
  readonly groups: readonly DeadGroup[]
  readonly looked: number
  readonly isComplete: boolean
  readonly cursor?: string
  /** Partitions that did not answer, by name: their dead messages are not counted. */
  readonly missing?: readonly string[]
}

/** One call looks at so many. */
const LOOKED_MAX = 20_000
const PAGE = 1_000
const SAMPLE = 5
const KEY_LENGTH = 16
const GROUPS_MAX = 1_000

export function groupKey({ topic, reason, error }: StoredMessage): string {
  const named = JSON.stringify([topic, reason, firstLine(error)])
  return createHash('sha256').update(named).digest('base64url').slice(0, KEY_LENGTH)
}

export type DeadQuestion = {
  readonly topic?: string
  readonly cursor?: string
  /** Whether the caller may see dead messages of this topic. */
  readonly isOwn: (topic: string) => boolean
  readonly now: number
}

/** Most first. Beyond a thousand groups, the rest of a page is counted under none: errors that differ each time. */
export async function readDeadGroups(
  store: Store,
  { topic, cursor, isOwn, now }: DeadQuestion,
): Promise<DeadGroupPage> {
  const groups = new Map<string, DeadGroup>()
  const gaps = new Gaps()
  let looked = 0
  let next = cursor
  do {
    const page = await listStored(
      store,
      parseList({ state: 'dead', limit: PAGE, ...about(topic, next) }, now),
    )
    looked += page.scanned
    gaps.note(page)
    for (const item of page.items) if (isOwn(item.topic)) addTo(groups, item)
    next = page.cursor
  } while (next !== undefined && looked < LOOKED_MAX)
  return {
    groups: [...groups.values()].toSorted((a, b) => b.count - a.count),
    looked,
    isComplete: next === undefined,
    ...(next === undefined ? {} : { cursor: next }),
    ...gaps.shown,
  }
}

/** The ids of the dead messages of one group, page by page. Rejects in the end where partitions did not answer. */
export async function* idsOfGroup(
  store: Store,
  { topic, key, now }: { readonly topic?: string; readonly key: string; readonly now: number },
): AsyncGenerator<{ readonly ids: readonly string[]; readonly looked: number }> {
  const gaps = new Gaps()
  let cursor: string | undefined
  do {
    const page = await listStored(
      store,
      parseList({ state: 'dead', limit: PAGE, ...about(topic, cursor) }, now),
    )
    gaps.note(page)
    const ids = page.items.filter((item) => groupKey(item) === key).map(({ id }) => id)
    yield { ids, looked: page.scanned }
    cursor = page.cursor
  } while (cursor !== undefined)
  gaps.assertNone('the others of this group are done.')
}

function about(topic: string | undefined, cursor: string | undefined): { topic?: string; cursor?: string } {
  return { ...(topic === undefined ? {} : { topic }), ...(cursor === undefined ? {} : { cursor }) }
}

function addTo(groups: Map<string, DeadGroup>, item: StoredMessage): void {
  const key = groupKey(item)
  const known = groups.get(key)
  if (known === undefined && groups.size >= GROUPS_MAX) return
  const { topic, reason, error, until, id } = item
  const { count, firstDiedAt, lastDiedAt, sample } = known ?? {
    count: 0,
    firstDiedAt: until,
    lastDiedAt: until,
    sample: [],
  }
  groups.set(key, {
    key,
    topic,
    reason,
    error: firstLine(error),
    count: count + 1,
    firstDiedAt: Math.min(firstDiedAt, until),
    lastDiedAt: Math.max(lastDiedAt, until),
    sample: sample.length < SAMPLE ? [...sample, id] : sample,
  })
}
