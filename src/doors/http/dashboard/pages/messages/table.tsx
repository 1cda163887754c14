/** Messages as rows. `j` and `k` walk, `x` selects, Enter opens. */
import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { usePageKeys, type KeyBinding } from '../../parts/keys.tsx'
import { go, linkTo } from '../../state/address.ts'
import { now } from '../../state/clock.ts'
import { zone } from '../../state/preferences.ts'
import { mayOperate } from '../../state/session.ts'
import type { ShownMessage } from '../../state/wire.ts'
import { distance, firstLine, isoMoment, moment } from '../../time/words.ts'

export type MessageTableProps = {
  readonly items: readonly ShownMessage[]
  readonly selected: ReadonlySet<string>
  readonly onSelect: (selected: ReadonlySet<string>) => void
}

export function MessageTable({ items, selected, onSelect }: MessageTableProps): JSX.Element {
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
  const isDead = items[0]?.state === 'dead'
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label="Messages">
      <table class="messages">
        <thead>
          <tr>
            {canSelect && (
              <th scope="col" class="check">
                <input type="checkbox" aria-label="Select the page" checked={isAll} onChange={selectPage} />
              </th>
            )}
            <th scope="col">{isDead ? 'Died' : 'Due'}</th>
            <th scope="col">Id</th>
            <th scope="col">Topic</th>
            <th scope="col" class="number">
              Attempt
            </th>
            <th scope="col">{isDead ? 'Reason' : 'Payload'}</th>
          </tr>
        </thead>
        <tbody>
          {items.map((message, row) => (
            <tr key={message.id} class={row === at ? 'is-here' : ''} aria-selected={undefined}>
              {canSelect && (
                <td class="check">
                  <input
                    type="checkbox"
                    aria-label={`Select ${message.id}`}
                    checked={selected.has(message.id)}
                    onChange={() => toggle(message.id)}
                  />
                </td>
              )}
              <td class="when-cell">
                <Due at={isDead ? (message.diedAt ?? message.dueAt) : message.dueAt} />
              </td>
              <td>
                <a class="id" href={linkTo('messages', {}, message.id)} onFocus={() => setAt(row)}>
                  {message.id}
                </a>
              </td>
              <td>
                {message.topic}{' '}
                {message.tags?.map((tag) => (
                  <span class="tag-like" key={tag}>
                    {tag}
                  </span>
                ))}
              </td>
              <td class="number">{message.attempt}</td>
              <td class="payload-cell">
                <code>
                  {isDead ? firstLine(message.error ?? message.reason ?? '') : (message.preview ?? '')}
                </code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Due({ at }: { readonly at: number }): JSX.Element {
  return (
    <time dateTime={new Date(at).toISOString()} title={isoMoment(at, zone.value)}>
      {moment(at, zone.value)}
      <span class="soft">{distance(at, now.value)}</span>
    </time>
  )
}
