/** The keys of a topic, page by page: how much of each waits, which of it runs, and what holds it back. */
import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { FoundKey, KeyPage } from '../../../../../index.ts'
import { LimitDialog, limitParts, type LimitWish } from '../../actions/limit.tsx'
import { Copyable } from '../../parts/copy.tsx'
import { Name, plainName } from '../../parts/name.tsx'
import { Answered, Empty } from '../../parts/notice.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { linkTo, place, queryHref } from '../../state/address.ts'
import { inQueue } from '../../state/api.ts'
import { useAnswer } from '../../state/ask.ts'
import { now } from '../../state/clock.ts'
import { isReachable, stats } from '../../state/live.ts'
import { mayOperate } from '../../state/session.ts'
import type { ShownMessage, ShownPage } from '../../state/wire.ts'
import { count, distance } from '../../time/words.ts'

const PAGE = 50
/** Of the topic: whose slots are taken is shown for so many. */
const RUNNING_MAX = 200
const NAMED = 3
/** As far as a store counts what waits of one key. */
const COUNTED_MAX = 1_000

const EXAMPLE = `await queue.produce('mail', payload, { key: 'customer-7' })`

export function TopicKeysPage({ topic }: { readonly topic: string }): JSX.Element {
  const cursor = place.value.query.get('cursor')
  const [wish, setWish] = useState<LimitWish | undefined>(undefined)
  const from = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
  const answer = useAnswer<KeyPage>(`${inQueue('topics', topic, 'keys')}?limit=${PAGE}${from}`)
  const running = useAnswer<ShownPage>(
    `${inQueue('messages')}?state=running&topic=${encodeURIComponent(topic)}&limit=${RUNNING_MAX}&payload=none`,
  )
  const perKey = stats.value?.controls.find((control) => control.topic === topic)?.limit?.perKey
  return (
    <>
      <PageHead title={`Keys of ${topic}`} />
      <p class="soft under-title">
        <a href={linkTo('messages', { state: 'all', topic })}>Its messages</a> ·{' '}
        {perKey === undefined ? 'no limit for each key' : `each key: ${limitParts(perKey).join(', ')}`}
      </p>
      <Answered answer={answer}>
        {({ keys, cursor: next }) => (
          <>
            {keys.length === 0 && next === undefined ? (
              <NoKeys />
            ) : (
              <KeyTable
                topic={topic}
                keys={keys}
                running={running.value?.items ?? []}
                actions={
                  mayOperate()
                    ? ({ key, limit }) => (
                        <button
                          disabled={!isReachable.value}
                          aria-label={`Limit ${plainName(key)}`}
                          onClick={() =>
                            setWish({
                              kind: 'key-limit',
                              topic,
                              key,
                              ...(limit === undefined ? {} : { limit }),
                            })
                          }
                        >
                          Limit…
                        </button>
                      )
                    : undefined
                }
              />
            )}
            <div class="progress-line">
              {cursor !== null && (
                <a class="button" href={queryHref({ cursor: undefined })}>
                  First page
                </a>
              )}
              {next !== undefined && (
                <a class="button" href={queryHref({ cursor: next })}>
                  Next page
                </a>
              )}
            </div>
          </>
        )}
      </Answered>
      {wish !== undefined && <LimitDialog wish={wish} onClose={() => setWish(undefined)} />}
    </>
  )
}

function NoKeys(): JSX.Element {
  return (
    <Empty title="No keys.">
      <p>
        A key says whose a message is: a customer, an account. Keys of a topic take turns, and may be limited.
        A key is here while messages of it wait or run, or while it has a limit of its own.
      </p>
      <Copyable label="in TypeScript" text={EXAMPLE} />
    </Empty>
  )
}

type KeyTableProps = {
  readonly topic: string
  readonly keys: readonly FoundKey[]
  readonly running: readonly ShownMessage[]
  readonly actions: ((found: FoundKey) => ComponentChildren) | undefined
}

function KeyTable({ topic, keys, running, actions }: KeyTableProps): JSX.Element {
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label="Keys">
      <table class="cards">
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col" class="number">
              Waiting
            </th>
            <th scope="col">Running</th>
            <th scope="col">Held back</th>
            {actions !== undefined && (
              <th scope="col">
                <span class="unseen">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {keys.map((found) => (
            <tr key={found.key}>
              <th scope="row">
                <a href={linkTo('messages', { state: 'all', topic, key: found.key })}>
                  <Name text={found.key} />
                </a>
              </th>
              <td class="number" data-name="Waiting">
                {found.waiting >= COUNTED_MAX ? `${count(COUNTED_MAX)} or more` : count(found.waiting)}
              </td>
              <td class="wide" data-name="Running">
                <Holders found={found} holders={running.filter(({ key }) => key === found.key)} />
              </td>
              <td class="wide" data-name="Held back">
                <Held found={found} />
              </td>
              {actions !== undefined && <td class="row-actions">{actions(found)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

type HoldersProps = { readonly found: FoundKey; readonly holders: readonly ShownMessage[] }

/** Who holds its slots. A store need not count what runs of a key without a limit. */
function Holders({ found, holders }: HoldersProps): JSX.Element {
  const running = Math.max(found.running, holders.length)
  return (
    <span>
      {count(running)}{' '}
      {holders.slice(0, NAMED).map(({ id }) => (
        <a class="tag-like" key={id} href={linkTo('messages', {}, id)}>
          <Name text={id} />
        </a>
      ))}
      {running > NAMED && holders.length > 0 && ' …'}
    </span>
  )
}

function Held({ found: { held, rateAt, limit } }: { readonly found: FoundKey }): JSX.Element {
  const isSpent = rateAt !== undefined && rateAt > now.value
  const parts = limit === undefined ? [] : limitParts(limit)
  return (
    <span>
      {held !== undefined && (
        <>
          waits for the retry of{' '}
          <a href={linkTo('messages', {}, held.id)}>
            <Name text={held.id} />
          </a>
          , due {distance(held.dueAt, now.value)}{' '}
        </>
      )}
      {isSpent && `its rate is spent: the next may start ${distance(rateAt, now.value)} `}
      {held === undefined && !isSpent && parts.length === 0 && '–'}
      {parts.length > 0 && <span class="soft">own limit: {parts.join(' · ')}</span>}
    </span>
  )
}
