/**
 * One page of messages, found step by step. A store looks at a bounded number per call; a text or a tag that few have makes
 * pages short, so we go on by ourselves for a moment, say how far we looked, and then leave it to the person. A word
 * that is looked for is several questions, put one after the other: what two of them find is shown once.
 */
import { useEffect, useState } from 'preact/hooks'
import { call, inQueue, troubleOf } from '../../state/api.ts'
import { serverNow } from '../../state/clock.ts'
import { beat } from '../../state/live.ts'
import type { ShownMessage, ShownPage, Trouble } from '../../state/wire.ts'

/** As long as we go on without being asked to. */
const PATIENCE_MS = 3_000

export type Listing = {
  readonly items: readonly ShownMessage[]
  /** Which of the questions goes on, and where; undefined at the end of all. */
  readonly place: ListingPlace | undefined
  readonly looked: number
  readonly isLooking: boolean
  readonly trouble: Trouble | undefined
}

export type ListingPlace = { readonly question: number; readonly cursor: string | undefined }

export type ListingAsk = {
  /** As the server takes them, without limit and cursor. */
  readonly questions: readonly string[]
  readonly cursor: string | undefined
  readonly size: number
}

const NOTHING: Listing = { items: [], place: undefined, looked: 0, isLooking: true, trouble: undefined }

/** `goOn` looks further when a page is not full. */
export function useListing({ questions, cursor, size }: ListingAsk): Listing & { readonly goOn: () => void } {
  const [listing, setListing] = useState<Listing>(NOTHING)
  const [further, setFurther] = useState<ListingPlace | undefined>(undefined)
  const asked = `${questions.join(' ')}#${cursor ?? ''}#${size}`
  const isText = questions.some((question) => question.includes('text='))
  // A first page is asked for again while it is shown; a search that took long, or a later page, stays as it is.
  const isLive = cursor === undefined && !isText && further === undefined
  const turn = isLive ? beat.value : 0
  useEffect(() => {
    setListing(NOTHING)
    setFurther(undefined)
  }, [asked])
  useEffect(() => {
    const abort = new AbortController()
    const before = further === undefined ? NOTHING : listing
    const begin = further ?? { question: 0, cursor }
    void look({ questions, size, isText, signal: abort.signal }, begin, before, setListing)
    return () => abort.abort()
  }, [asked, further, turn])
  return { ...listing, goOn: () => setFurther(listing.place) }
}

type ListingSearch = Pick<ListingAsk, 'questions' | 'size'> & {
  readonly isText: boolean
  readonly signal: AbortSignal
}

async function look(
  { questions, size, isText, signal }: ListingSearch,
  begin: ListingPlace,
  before: Listing,
  show: (listing: Listing) => void,
): Promise<void> {
  const wanted = before.items.length + size
  let found: Listing = { ...before, place: begin, isLooking: true, trouble: undefined }
  const startedAt = serverNow()
  try {
    while (
      found.place !== undefined &&
      found.items.length < wanted &&
      serverNow() - startedAt < PATIENCE_MS
    ) {
      const { question, cursor } = found.place
      const path = pathOf(questions[question] ?? '', wanted - found.items.length, cursor)
      const page = await call<ShownPage>('GET', path, { signal })
      const known = new Set(found.items.map(({ id }) => id))
      const isOver = page.cursor === undefined && question + 1 >= questions.length
      found = {
        items: [...found.items, ...page.items.filter(({ id }) => !known.has(id))],
        place: isOver
          ? undefined
          : page.cursor === undefined
            ? { question: question + 1, cursor: undefined }
            : { question, cursor: page.cursor },
        looked: found.looked + page.looked,
        isLooking: !isOver,
        trouble: undefined,
      }
      if (isText && !isOver) show(found)
    }
    show({ ...found, isLooking: false })
  } catch (error) {
    if (!signal.aborted) show({ ...found, isLooking: false, trouble: troubleOf(error) })
  }
}

function pathOf(query: string, limit: number, cursor: string | undefined): string {
  const params = new URLSearchParams(query)
  params.set('limit', String(limit))
  params.set('payload', 'preview')
  if (cursor !== undefined) params.set('cursor', cursor)
  return `${inQueue('messages')}?${params.toString()}`
}
