/** Messages: find some among a million, select them or all that match, and act on them. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ManyDialog, type ManyAction, type ManyWish } from '../../actions/many.tsx'
import { Empty, TroubleLine } from '../../parts/notice.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { place, queryHref } from '../../state/address.ts'
import { now } from '../../state/clock.ts'
import { isReachable, stats } from '../../state/live.ts'
import { mayOperate } from '../../state/session.ts'
import { count, plural } from '../../time/words.ts'
import { FirstMessage } from '../first-message.tsx'
import { FilterBar } from './filter-bar.tsx'
import { filterOf, filterQuery, filterText, isNarrow, manyFilter, type PageFilter } from './filter.ts'
import { useListing, type Listing } from './listing.ts'
import { MessageTable } from './table.tsx'

type PageSelection = { readonly kind: 'some'; readonly ids: ReadonlySet<string> } | { readonly kind: 'all' }

const NONE: PageSelection = { kind: 'some', ids: new Set() }

export function MessagesPage(): JSX.Element {
  const { query } = place.value
  const filter = filterOf(query)
  const cursor = query.get('cursor') ?? undefined
  const asked = filterQuery(filter)
  const listing = useListing(asked, cursor)
  const [selection, setSelection] = useState<PageSelection>(NONE)
  const [wish, setWish] = useState<ManyWish | undefined>(undefined)
  useEffect(() => setSelection(NONE), [asked])
  const shownIds = new Set(listing.items.map(({ id }) => id))
  const selected = selection.kind === 'all' ? shownIds : selection.ids
  return (
    <>
      <PageHead title="Messages" />
      <FilterBar filter={filter} />
      {mayOperate() && listing.items.length > 0 && (
        <SelectionBar
          filter={filter}
          selection={selection}
          onAll={() => setSelection({ kind: 'all' })}
          onNone={() => setSelection(NONE)}
          onAct={(action) => setWish(wishOf(action, filter, selection))}
        />
      )}
      <TroubleLine trouble={listing.trouble} />
      {listing.items.length > 0 && (
        <MessageTable
          items={listing.items}
          selected={selected}
          onSelect={(ids) => setSelection({ kind: 'some', ids })}
        />
      )}
      <Progress filter={filter} listing={listing} goOn={listing.goOn} isFirst={cursor === undefined} />
      {wish !== undefined && (
        <ManyDialog
          wish={wish}
          onClose={() => {
            setWish(undefined)
            setSelection(NONE)
          }}
        />
      )}
    </>
  )
}

function wishOf(action: ManyAction, filter: PageFilter, selection: PageSelection): ManyWish {
  if (selection.kind === 'all') {
    return { action, filter: manyFilter(filter), about: filterText(filter, now.value) }
  }
  const ids = [...selection.ids]
  const about =
    ids.length === 1 ? `The message ${ids[0] ?? ''}.` : `The ${count(ids.length)} messages that you selected.`
  return { action, filter: { ids }, about }
}

const ACTIONS: Readonly<Record<PageFilter['state'], readonly (readonly [ManyAction, string])[]>> = {
  delayed: [
    ['move', 'Move…'],
    ['spread', 'Spread…'],
    ['cancel', 'Cancel…'],
  ],
  ready: [
    ['move', 'Move…'],
    ['spread', 'Spread…'],
    ['cancel', 'Cancel…'],
  ],
  running: [],
  dead: [
    ['revive', 'Revive…'],
    ['purge', 'Purge…'],
  ],
}

type SelectionBarProps = {
  readonly filter: PageFilter
  readonly selection: PageSelection
  readonly onAll: () => void
  readonly onNone: () => void
  readonly onAct: (action: ManyAction) => void
}

function SelectionBar({ filter, selection, onAll, onNone, onAct }: SelectionBarProps): JSX.Element {
  const isSome = selection.kind === 'all' || selection.ids.size > 0
  const total = isNarrow(filter) ? undefined : stats.value?.counts[filter.state]
  return (
    <div class="selection" role="group" aria-label="Selection">
      <span>
        {selection.kind === 'all'
          ? `All that match${total === undefined ? '' : `: ${count(total)}`}`
          : selection.ids.size === 0
            ? 'Nothing selected'
            : `${count(selection.ids.size)} selected`}
      </span>
      {selection.kind === 'some' ? (
        <button class="quiet" onClick={onAll}>
          Select all that match
        </button>
      ) : (
        <button class="quiet" onClick={onNone}>
          Select none
        </button>
      )}
      <span class="space" />
      {ACTIONS[filter.state].map(([action, title]) => (
        <button key={action} disabled={!isSome || !isReachable.value} onClick={() => onAct(action)}>
          {title}
        </button>
      ))}
    </div>
  )
}

type ProgressProps = {
  readonly filter: PageFilter
  readonly listing: Listing
  readonly goOn: () => void
  readonly isFirst: boolean
}

/** How far we looked, and the way on. */
function Progress({ filter, listing, goOn, isFirst }: ProgressProps): JSX.Element {
  const { items, cursor, looked, isLooking, trouble } = listing
  const total = stats.value?.counts[filter.state]
  if (items.length === 0 && !isLooking && cursor === undefined && trouble === undefined) {
    return <NothingFound filter={filter} looked={looked} />
  }
  return (
    <div class="progress-line" role="status">
      <span class="soft">
        {isLooking && 'Looking… '}
        {filter.text === undefined
          ? items.length > 0 && plural(items.length, 'message')
          : `${plural(items.length, 'match').replace('matchs', 'matches')}; looked at ${count(looked)}${total === undefined ? '' : ` of ${count(total)}`}`}
      </span>
      {cursor !== undefined && !isLooking && items.length < 50 && (
        <button onClick={goOn}>Go on looking</button>
      )}
      {!isFirst && (
        <a class="button" href={queryHref({ cursor: undefined })}>
          First page
        </a>
      )}
      {cursor !== undefined && !isLooking && items.length > 0 && (
        <a class="button" href={queryHref({ cursor })}>
          Next page
        </a>
      )}
    </div>
  )
}

const MEANINGS = {
  delayed: 'A delayed message waits for its moment.',
  ready: 'A ready message is due and waits for a free worker. An empty list is a good sign.',
  running: 'A running message is held by a worker, under a lease.',
  dead: 'A dead letter failed for good. None is a good sign.',
} as const

function NothingFound({
  filter,
  looked,
}: {
  readonly filter: PageFilter
  readonly looked: number
}): JSX.Element {
  const counts = stats.value?.counts
  const isAllEmpty =
    counts !== undefined && counts.delayed + counts.ready + counts.running + counts.dead === 0
  if (isAllEmpty && !isNarrow(filter)) return <FirstMessage />
  return (
    <Empty title={isNarrow(filter) ? 'Nothing matches.' : `Nothing is ${filter.state}.`}>
      <p>
        {MEANINGS[filter.state]}
        {filter.text !== undefined && ` Looked at ${plural(looked, 'message')}.`}
      </p>
    </Empty>
  )
}
