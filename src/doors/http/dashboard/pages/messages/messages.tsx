/** Messages: find some among a million, select them or all that match, and act on them. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ManyDialog, type ManyAction, type ManyWish } from '../../actions/many.tsx'
import { Empty, TroubleLine } from '../../parts/notice.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { plainName } from '../../parts/name.tsx'
import { changeQuery, place, queryHref } from '../../state/address.ts'
import { isReachable } from '../../state/live.ts'
import { choosePageSize, PAGE_SIZES, pageSize } from '../../state/preferences.ts'
import { mayOperate } from '../../state/session.ts'
import { count, plural } from '../../time/words.ts'
import { FirstMessage } from '../first-message.tsx'
import { countIn, FilterBar, StateTabs } from './filter-bar.tsx'
import {
  filterOf,
  filterText,
  isNarrow,
  isSearched,
  manyFilter,
  questionsOf,
  type PageFilter,
} from './filter.ts'
import { useListing } from './listing.ts'
import { sorted, sortOf } from './sorting.ts'
import { MessageTable } from './table.tsx'

type PageSelection = { readonly kind: 'some'; readonly ids: ReadonlySet<string> } | { readonly kind: 'all' }

const NONE: PageSelection = { kind: 'some', ids: new Set() }

export function MessagesPage(): JSX.Element {
  const { query } = place.value
  const filter = filterOf(query)
  const cursor = query.get('cursor') ?? undefined
  const sort = sortOf(query.get('sort'), filter.state)
  const questions = questionsOf(filter, sort.order)
  const size = Number(pageSize.value)
  const listing = useListing({ questions, cursor, size })
  const [selection, setSelection] = useState<PageSelection>(NONE)
  const [wish, setWish] = useState<ManyWish | undefined>(undefined)
  useEffect(() => setSelection(NONE), [questions.join(' ')])
  const items = sorted(listing.items, sort)
  const shownIds = new Set(items.map(({ id }) => id))
  const selected = selection.kind === 'all' ? shownIds : selection.ids
  return (
    <>
      <PageHead title="Messages">
        <StateTabs filter={filter} />
      </PageHead>
      <FilterBar filter={filter} />
      {mayOperate() && items.length > 0 && (
        <SelectionBar
          filter={filter}
          selection={selection}
          onAll={() => setSelection({ kind: 'all' })}
          onNone={() => setSelection(NONE)}
          onAct={(action) => setWish(wishOf(action, filter, selection))}
        />
      )}
      <TroubleLine trouble={listing.trouble} />
      {items.length > 0 && (
        <MessageTable
          items={items}
          sort={sort}
          hasStates={filter.state === 'all'}
          selected={selected}
          onSelect={(ids) => setSelection({ kind: 'some', ids })}
        />
      )}
      <Progress filter={filter} listing={listing} size={size} isFirst={cursor === undefined} />
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
    return { action, filter: manyFilter(filter), about: filterText(filter) }
  }
  const ids = [...selection.ids]
  const about =
    ids.length === 1
      ? `The message ${plainName(ids[0] ?? '')}.`
      : `The ${count(ids.length)} messages that you selected.`
  return { action, filter: { ids }, about }
}

const MOVE = ['move', 'Move…'] as const
const SPREAD = ['spread', 'Spread…'] as const
const CANCEL = ['cancel', 'Cancel…'] as const
const REVIVE = ['revive', 'Revive…'] as const

const ACTIONS: Readonly<Record<PageFilter['state'], readonly (readonly [ManyAction, string])[]>> = {
  all: [MOVE, SPREAD, CANCEL, REVIVE],
  delayed: [MOVE, SPREAD, CANCEL],
  ready: [MOVE, SPREAD, CANCEL],
  running: [],
  dead: [REVIVE, ['purge', 'Purge…']],
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
  const total = isNarrow(filter) ? undefined : countIn(filter.state)
  // A filter never means everything, and a word that is looked for is no filter.
  const mayAll = filter.find === undefined && (filter.state !== 'all' || isNarrow(filter))
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
        <button class="quiet" disabled={!mayAll} onClick={onAll}>
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
  readonly listing: ReturnType<typeof useListing>
  readonly size: number
  readonly isFirst: boolean
}

/** How far we looked, and the way on. */
function Progress({ filter, listing, size, isFirst }: ProgressProps): JSX.Element {
  const { items, place: next, looked, isLooking, trouble, goOn } = listing
  if (items.length === 0 && !isLooking && next === undefined && trouble === undefined) {
    return <NothingFound filter={filter} looked={looked} />
  }
  const isSearch = isSearched(filter) || filter.find !== undefined
  const total = countIn(filter.state)
  const found = isSearch
    ? `${plural(items.length, 'match', 'matches')}; looked at ${count(looked)}${total === undefined || filter.find !== undefined ? '' : ` of ${count(total)}`}`
    : items.length > 0 && plural(items.length, 'message')
  const mayGoOn = next !== undefined && !isLooking
  return (
    <div class="progress-line" role="status">
      <span class="soft">
        {isLooking && 'Looking… '}
        {found}
      </span>
      {mayGoOn && (items.length < size || filter.find !== undefined) && (
        <button onClick={goOn}>Go on looking</button>
      )}
      {!isFirst && (
        <a class="button" href={queryHref({ cursor: undefined })}>
          First page
        </a>
      )}
      {mayGoOn && items.length > 0 && next.question === 0 && filter.find === undefined && (
        <a class="button" href={queryHref({ cursor: next.cursor })}>
          Next page
        </a>
      )}
      <span class="space" />
      <select
        aria-label="Rows of a page"
        value={pageSize.value}
        onChange={(event) => {
          choosePageSize(event.currentTarget.value)
          changeQuery({ cursor: undefined }, 'replace')
        }}
      >
        {PAGE_SIZES.map((one) => (
          <option key={one} value={one}>
            {one} rows
          </option>
        ))}
      </select>
    </div>
  )
}

const MEANINGS = {
  all: 'No message is in this queue.',
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
  if (countIn('all') === 0 && !isNarrow(filter)) return <FirstMessage />
  const { find, state } = filter
  return (
    <Empty title={isNarrow(filter) ? 'Nothing matches.' : `Nothing is ${state}.`}>
      {find === undefined ? (
        <p>
          {MEANINGS[state]}
          {isSearched(filter) && ` Looked at ${plural(looked, 'message')}.`}
        </p>
      ) : (
        <p>
          No id is or begins with “{plainName(find)}”, no tag is it, and no payload has it in its text. Looked
          at {plural(looked, 'message')} {state === 'all' ? 'in all states' : `that are ${state}`}. A message
          that was completed is found by its whole id, as long as it is remembered.
        </p>
      )}
    </Empty>
  )
}
