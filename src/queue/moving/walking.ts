/** Everything that a queue holds, kind by kind and page by page. */
import { SCHEDULES_TOPIC } from '../../core/control.ts'
import { UnavailableError } from '../../core/errors.ts'
import type { Page, Store, StoredMessage } from '../../store/contract/store.ts'

/** Schedules first: they are few, and what they placed is among those that wait. */
export const KINDS = ['schedules', 'waiting', 'dead', 'remembered'] as const
export type Kind = (typeof KINDS)[number]
export type KindCounts = { readonly [kind in Kind]: number }

/** Which `remove` takes one of this kind away. */
export function removedFrom(kind: Kind): 'waiting' | 'dead' {
  return kind === 'schedules' || kind === 'waiting' ? 'waiting' : 'dead'
}

/**
 * What is delayed comes before what is ready: one that becomes due on the way is then met in the second walk. Each walk is
 * in produce order, so that what is placed in this order keeps it (P7).
 */
export async function* pagesOf(
  store: Store,
  kind: Kind,
  limit: number,
): AsyncGenerator<readonly StoredMessage[]> {
  switch (kind) {
    case 'schedules':
    case 'waiting':
      for (const state of ['delayed', 'ready'] as const) {
        const about = kind === 'schedules' ? { state, topic: SCHEDULES_TOPIC } : { state }
        yield* walk((cursor) => store.inspect({ ...about, limit, ...cursor }))
      }
      return
    case 'dead':
      yield* walk((cursor) => store.inspect({ state: 'dead', limit, ...cursor }))
      return
    case 'remembered':
      yield* walk((cursor) => store.remembered({ limit, ...cursor }))
  }
}

type PageStart = { readonly cursor?: string }

async function* walk(read: (cursor: PageStart) => Promise<Page>): AsyncGenerator<readonly StoredMessage[]> {
  let cursor: string | undefined
  do {
    const page: Page = await read(cursor === undefined ? {} : { cursor })
    assertWhole(page.missing)
    if (page.items.length > 0) yield page.items
    cursor = page.cursor
  } while (cursor !== undefined)
}

/** A part of the store that does not answer holds messages that would be left behind unseen. */
export function assertWhole(missing: readonly string[] | undefined): void {
  if (missing === undefined || missing.length === 0) return
  throw new UnavailableError(
    'STORE_PARTIAL',
    `${missing.join(', ')} did not answer; a move needs the whole store. Run it again when all of it is there.`,
    { value: missing },
  )
}
