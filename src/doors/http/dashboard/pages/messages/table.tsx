/** Messages as rows. `j` and `k` walk, `x` selects, Enter opens; a click on a header sorts. */
import type { ComponentChildren, JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { usePageKeys, type KeyBinding } from '../../parts/keys.tsx'
import { Name, plainName } from '../../parts/name.tsx'
import { go, linkTo, queryHref } from '../../state/address.ts'
import { now } from '../../state/clock.ts'
import { zone } from '../../state/preferences.ts'
import { mayOperate } from '../../state/session.ts'
import type { ShownMessage } from '../../state/wire.ts'
import { bytes, distance, firstLine, isoMoment, moment } from '../../time/words.ts'
import { nextSort, type RowSort, type SortName } from './sorting.ts'

export type MessageTableProps = {
  readonly items: readonly ShownMessage[]
  readonly sort: RowSort
  /** Several states are mixed: each row says its own. */
  readonly hasStates: boolean
  readonly selected: ReadonlySet<string>
  readonly onSelect: (selected: ReadonlySet<string>) => void
}

export function MessageTable(props: MessageTableProps): JSX.Element {
  const { items, sort, hasStates, selected, onSelect } = props
  const [at, setAt] = useState(-1)
  const canSelect = mayOperate()
  const toggle = (id: string): void => {
    const changed = new Set(selected)
    if (!changed.delete(id)) changed.add(id)
    onSelect(changed)
  }
  const isAll = items.length > 0 && items.every(({ id }) => selected.has(id))
  const selectPage = (): void => onSelect(new Set(isAll ? [] : items.map(({ id }) => id)))
  const keys = useMemo<KeyBinding[]>(() => {
    const walk = (by: number): void => {
      const next = Math.min(items.length - 1, Math.max(0, at + by))
      setAt(next)
      const links = document.querySelectorAll<HTMLAnchorElement>('tbody a.id')
      links[next]?.focus()
    }
    const here = items[at]
    return [
      { keys: 'j', does: 'Next row', run: () => walk(1) },
      { keys: 'k', does: 'Row before', run: () => walk(-1) },
      { keys: 'o', does: 'Open the row', run: () => here && go(linkTo('messages', {}, here.id)) },
      ...(canSelect
        ? [
            { keys: 'x', does: 'Select the row', run: () => here && toggle(here.id) },
            { keys: 'a', does: 'Select the page', run: selectPage },
          ]
        : []),
    ]
  }, [items, at, selected, canSelect])
  usePageKeys(keys)
  // Most queues have no keys: the room is for what they have.
  const hasKeys = items.some(({ key }) => key !== undefined)
  const isDead = items.every(({ state }) => state === 'dead')
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label="Messages">
      <table class={hasKeys ? 'messages has-keys' : 'messages'}>
        <thead>
          <tr>
            {canSelect && (
              <th scope="col" class="check">
                <input type="checkbox" aria-label="Select the page" checked={isAll} onChange={selectPage} />
              </th>
            )}
            <Head name="due" sort={sort} kind="when-cell">
              {isDead ? 'Died' : 'Due'}
            </Head>
            {hasStates && (
              <Head name="state" sort={sort} kind="state-cell">
                State
              </Head>
            )}
            <Head name="id" sort={sort} kind="id-cell">
              Id
            </Head>
            <Head name="topic" sort={sort} kind="topic-cell">
              Topic
            </Head>
            {hasKeys && (
              <Head name="key" sort={sort} kind="key-cell">
                Key
              </Head>
            )}
            <Head name="attempt" sort={sort} kind="number">
              Attempt
            </Head>
            <Head name="size" sort={sort} kind="number size-cell">
              Size
            </Head>
            <th scope="col" class="payload-cell">
              {isDead ? 'Reason' : 'Payload'}
            </th>
          </tr>
        </thead>
        <tbody>
          {items.map((message, row) => (
            <tr key={message.id} class={row === at ? 'is-here' : ''}>
              {canSelect && (
                <td class="check">
                  <input
                    type="checkbox"
                    aria-label={`Select ${plainName(message.id)}`}
                    checked={selected.has(message.id)}
                    onChange={() => toggle(message.id)}
                  />
                </td>
              )}
              <Row message={message} hasState={hasStates} hasKey={hasKeys} onFocus={() => setAt(row)} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

type HeadProps = {
  readonly name: SortName
  readonly sort: RowSort
  readonly kind: string
  readonly children: ComponentChildren
}

function Head({ name, sort, kind, children }: HeadProps): JSX.Element {
  const isSorted = sort.by === name
  return (
    <th
      scope="col"
      class={kind}
      aria-sort={isSorted ? (sort.isFalling ? 'descending' : 'ascending') : undefined}
    >
      <a
        class="sort"
        href={queryHref({
          sort: nextSort(sort, name),
          ...(name === 'due' || sort.by === 'due' ? { cursor: undefined } : {}),
        })}
        title={name === 'due' ? 'Sort all by their moment' : 'Sort the rows of this page'}
      >
        {children}
      </a>
    </th>
  )
}

type MessageRowProps = {
  readonly message: ShownMessage
  readonly hasState: boolean
  readonly hasKey: boolean
  readonly onFocus: () => void
}

function Row({ message, hasState, hasKey, onFocus }: MessageRowProps): JSX.Element {
  const { id, topic, tags, key, state, attempt, payloadBytes, preview, error, reason } = message
  const shown = state === 'dead' ? firstLine(error ?? reason ?? '') : (preview ?? '')
  return (
    <>
      <td class="when-cell">
        <Due at={state === 'dead' ? (message.diedAt ?? message.dueAt) : message.dueAt} />
      </td>
      {hasState && (
        <td class="state-cell">
          <span class={`state state-${state}`}>{state}</span>
        </td>
      )}
      <td class="id-cell">
        <a class="id" href={linkTo('messages', {}, id)} onFocus={onFocus}>
          <Name text={id} />
        </a>
      </td>
      <td class="topic-cell">
        <span class="topic-line">
          <Name text={topic} />
          {tags?.map((tag) => (
            <a class="tag-like" key={tag} href={linkTo('messages', { state: 'all', tag })}>
              <Name text={tag} />
            </a>
          ))}
        </span>
      </td>
      {hasKey && (
        <td class={key === undefined ? 'key-cell is-nothing' : 'key-cell'}>
          {key !== undefined && (
            <a href={linkTo('messages', { state: 'all', topic, key })}>
              <Name text={key} />
            </a>
          )}
        </td>
      )}
      <td class="number">{attempt}</td>
      <td class="number size-cell">{payloadBytes === 0 ? '–' : bytes(payloadBytes)}</td>
      <td class="payload-cell">
        <code>
          <Name text={shown} />
        </code>
      </td>
    </>
  )
}

/** As far as it is from now, and when that is: both in one line. */
function Due({ at }: { readonly at: number }): JSX.Element {
  return (
    <time dateTime={new Date(at).toISOString()} title={isoMoment(at, zone.value)}>
      {moment(Math.floor(at / 1_000) * 1_000, zone.value)}
      <span class="soft">{distance(at, now.value)}</span>
    </time>
  )
}
