/** Who works: where, since when, on what, how busy; and who fell silent. */
import type { JSX } from 'preact'
import type { FoundWorker } from '../../../../index.ts'
import { Answered, Empty } from '../parts/notice.tsx'
import { Name } from '../parts/name.tsx'
import { PageHead } from '../parts/shell.tsx'
import { linkTo } from '../state/address.ts'
import { now } from '../state/clock.ts'
import { ago, count, plural } from '../time/words.ts'
import { useWorkers } from './worker-list.ts'

export function WorkersPage(): JSX.Element {
  const answer = useWorkers()
  return (
    <>
      <PageHead title="Workers" />
      <Answered answer={answer}>
        {({ workers }) => {
          // A process that handles no topic works on nothing: it fires schedules, and takes over what others left.
          const [handling, others] = [true, false].map((wanted) =>
            workers.filter(({ facts }) => (facts?.topicCount !== 0) === wanted),
          )
          return (
            <>
              {handling?.length === 0 ? (
                <Empty title="No worker has been seen.">
                  <p>
                    Messages wait in the store until one is there. A worker is a process that called{' '}
                    <code>handle</code> and <code>start</code>, or runs <code>punctual work</code>.
                  </p>
                </Empty>
              ) : (
                <WorkerTable workers={handling ?? []} />
              )}
              <WithoutHandlers workers={others?.filter(({ state }) => state === 'alive') ?? []} />
            </>
          )
        }}
      </Answered>
    </>
  )
}

const NAMED = 5

function WithoutHandlers({ workers }: { readonly workers: readonly FoundWorker[] }): JSX.Element | null {
  if (workers.length === 0) return null
  const names = workers
    .slice(0, NAMED)
    .map(({ facts, owner }) => `${facts?.host ?? owner} pid ${facts?.pid ?? '?'}`)
  return (
    <p class="soft">
      {plural(workers.length, 'process', 'processes')} without handlers beside them, such as a server:{' '}
      {names.join(', ')}
      {workers.length > NAMED && ', …'}. They fire schedules and take over what others left, and run no
      message.
    </p>
  )
}

function WorkerTable({ workers }: { readonly workers: readonly FoundWorker[] }): JSX.Element {
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label="Workers">
      <table class="cards">
        <thead>
          <tr>
            <th scope="col">Worker</th>
            <th scope="col">State</th>
            <th scope="col">Slots taken</th>
            <th scope="col">Topics</th>
            <th scope="col">Up for</th>
            <th scope="col">Last seen</th>
            <th scope="col">Version</th>
          </tr>
        </thead>
        <tbody>
          {workers.map((worker) => (
            <Row key={worker.owner} worker={worker} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

const TOPICS_SHOWN = 6

function Row({ worker }: { readonly worker: FoundWorker }): JSX.Element {
  const { owner, state, facts, firstSeenAt, lastSeenAt, goneAt, pausedTopics = [] } = worker
  return (
    <tr class={state === 'alive' ? '' : 'is-over'}>
      <th scope="row" title={owner}>
        {facts === undefined ? owner : facts.host}{' '}
        {facts !== undefined && <span class="soft">pid {facts.pid}</span>}
      </th>
      <td data-name="State">
        <span class={`worker-${state}`}>{state}</span>
      </td>
      <td class="wide" data-name="Slots taken">
        {facts !== undefined && (
          <span>
            <meter min={0} max={Math.max(1, facts.slots)} value={facts.running} aria-label="Slots taken" />{' '}
            {count(facts.running)} of {count(facts.slots)}
            {facts.perSecond !== undefined && (
              <span class="soft"> · can do {count(Math.round(facts.perSecond))}/s</span>
            )}
          </span>
        )}
      </td>
      <td class="wide">
        {facts?.topics.slice(0, TOPICS_SHOWN).map((topic) => (
          <a class="tag-like" key={topic} href={linkTo('messages', { topic })}>
            <Name text={topic} />
            {pausedTopics.includes(topic) && ' (paused)'}
          </a>
        ))}
        {(facts?.topicCount ?? 0) > TOPICS_SHOWN && (
          <span class="soft"> and {plural((facts?.topicCount ?? 0) - TOPICS_SHOWN, 'other')}</span>
        )}
      </td>
      <td class="wide" data-name="Up for">
        {ago(facts?.startedAt ?? firstSeenAt, goneAt ?? now.value)}
      </td>
      <td class="wide" data-name="Last seen">
        {ago(goneAt ?? lastSeenAt, now.value)} ago
      </td>
      <td class="soft" data-name="Version">
        {facts?.version ?? 'another'}
      </td>
    </tr>
  )
}
