/**
 * One page of messages, found step by step. A store looks at a bounded number per call; a text or a tag that few have makes
 * pages short, so we go on by ourselves for a moment, say how far we looked, and then leave it to the person.
 */
import { useEffect, useState } from 'preact/hooks'
import { call, inQueue, troubleOf } from '../../state/api.ts'
import { serverNow } from '../../state/clock.ts'
import { beat } from '../../state/live.ts'
import type { ShownMessage, ShownPage, Trouble } from '../../state/wire.ts'

export const PAGE_SIZE = 50
/** As long as we go on without being asked to. */
const PATIENCE_MS = 3_000

export type Listing = {
  readonly items: readonly ShownMessage[]
  /** Where the next page begins; undefined at the end. */
  readonly cursor: string | undefined
  readonly looked: number
  readonly isLooking: boolean
  readonly trouble: Trouble | undefined
}

const NOTHING: Listing = { items: [], cursor: undefined, looked: 0, isLooking: true, trouble: undefined }

/** `query`: as the server takes it, without limit and cursor. `goOn` looks further when a page is not full. */
export function useListing(
  query: string,
  cursor: string | undefined,
): Listing & { readonly goOn: () => void } {
  const [listing, setListing] = useState<Listing>(NOTHING)
  const [further, setFurther] = useState<string | undefined>(undefined)
  const question = `${query}#${cursor ?? ''}`
  // A first page is asked for again while it is shown; a search that took long, or a later page, stays as it is.
  const isLive = cursor === undefined && !query.includes('text=') && further === undefined
  const turn = isLive ? beat.value : 0
  useEffect(() => {
    setListing(NOTHING)
    setFurther(undefined)
  }, [question])
  useEffect(() => {
    const abort = new AbortController()
    const before = further === undefined ? NOTHING : listing
    void look(query, further ?? cursor, before, abort.signal, setListing)
    return () => abort.abort()
  }, [question, further, turn])
  return { ...listing, goOn: () => setFurther(listing.cursor) }
}

async function look(
  query: string,
  cursor: string | undefined,
  before: Listing,
  signal: AbortSignal,
  show: (listing: Listing) => void,
): Promise<void> {
  let found: Listing = { ...before, cursor, isLooking: true, trouble: undefined }
  const startedAt = serverNow()
  try {
    do {
      const page = await call<ShownPage>('GET', pathOf(query, found), { signal })
      found = {
        items: [...found.items, ...page.items],
        cursor: page.cursor,
        looked: found.looked + page.looked,
        isLooking: page.cursor !== undefined,
        trouble: undefined,
      }
      if (query.includes('text=') && found.isLooking) show(found)
    } while (
      found.cursor !== undefined &&
      found.items.length < PAGE_SIZE &&
      serverNow() - startedAt < PATIENCE_MS
    )
    show({ ...found, isLooking: false })
  } catch (error) {
    if (!signal.aborted) show({ ...found, isLooking: false, trouble: troubleOf(error) })
  }
}

function pathOf(query: string, { items, cursor }: Listing): string {
  const params = new URLSearchParams(query)
  params.set('limit', String(PAGE_SIZE - items.length))
  params.set('payload', 'preview')
  if (cursor !== undefined) params.set('cursor', cursor)
  return `${inQueue('messages')}?${params.toString()}`
}
