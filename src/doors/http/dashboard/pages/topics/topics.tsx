/** Topics: what waits in each, and the brakes: pause, resume over some time, limit. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { ControlDialog, controlText, type ControlWish } from '../../actions/controls.tsx'
import { LimitDialog, type LimitWish } from '../../actions/limit.tsx'
import { plainName } from '../../parts/name.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { changeQuery, linkTo, place, queryHref } from '../../state/address.ts'
import { isReachable, stats, topics } from '../../state/live.ts'
import { mayOperate } from '../../state/session.ts'
import { count } from '../../time/words.ts'
import { TopicTable } from './topic-table.tsx'

const PAGE = 50

export function TopicsPage(): JSX.Element {
  const [wish, setWish] = useState<TopicWish | undefined>(undefined)
  const wanted = place.value.query.get('name') ?? ''
  const controls = stats.value?.controls ?? []
  const whole = controls.find(({ topic }) => topic === undefined)
  // A topic that is held back and empty is still worth a line.
  const names = [
    ...new Set([...Object.keys(topics.value?.topics ?? {}), ...controls.flatMap(({ topic }) => topic ?? [])]),
  ]
  const found = names.filter((name) => name.includes(wanted))
  const pages = Math.max(1, Math.ceil(found.length / PAGE))
  const page = Math.min(pages, Math.max(1, Number(place.value.query.get('page') ?? 1) || 1))
  return (
    <>
      <PageHead title="Topics">
        <span class="space" />
        <input
          type="search"
          aria-label="Topics whose name contains"
          placeholder="Name contains"
          value={wanted}
          onInput={(event) => changeQuery({ name: event.currentTarget.value, page: undefined }, 'replace')}
        />
      </PageHead>
      <div class="whole-queue">
        <p>
          <strong>The whole queue</strong>{' '}
          {whole === undefined ? 'is not held back.' : `is ${controlText(whole) ?? ''}.`}
        </p>
        {mayOperate() && (
          <PauseButton topic={undefined} isPaused={whole?.paused !== undefined} onWish={setWish} />
        )}
      </div>
      <TopicTable
        names={found.slice((page - 1) * PAGE, page * PAGE)}
        actions={(topic) => (
          <>
            <a class="button" href={linkTo('topics', {}, topic)} aria-label={`Keys of ${plainName(topic)}`}>
              Keys
            </a>
            {mayOperate() && <TopicActions topic={topic} onWish={setWish} />}
          </>
        )}
      />
      {pages > 1 && (
        <nav class="progress-line" aria-label="Pages of topics">
          <span class="soft">
            {count((page - 1) * PAGE + 1)} to {count(Math.min(found.length, page * PAGE))} of{' '}
            {count(found.length)}, those with most waiting first
          </span>
          {page > 1 && (
            <a class="button" href={queryHref({ page: page - 1 })}>
              Page before
            </a>
          )}
          {page < pages && (
            <a class="button" href={queryHref({ page: page + 1 })}>
              Next page
            </a>
          )}
        </nav>
      )}
      {topics.value?.moreTopics === true && (
        <p class="soft">
          There are more topics than the 1,000 that are listed. Any of them is found among the{' '}
          <a href={linkTo('messages', { topic: wanted })}>messages</a> by its whole name.
        </p>
      )}
      {wish?.kind === 'limit' && <LimitDialog wish={wish} onClose={() => setWish(undefined)} />}
      {(wish?.kind === 'pause' || wish?.kind === 'resume') && (
        <ControlDialog wish={wish} onClose={() => setWish(undefined)} />
      )}
    </>
  )
}

type TopicWish = ControlWish | LimitWish
type WishProps = { readonly topic: string | undefined; readonly onWish: (wish: TopicWish) => void }

function PauseButton({ topic, isPaused, onWish }: WishProps & { readonly isPaused: boolean }): JSX.Element {
  const name = topic ?? 'the whole queue'
  return (
    <button
      disabled={!isReachable.value}
      aria-label={`${isPaused ? 'Resume' : 'Pause'} ${name}`}
      onClick={() => onWish({ kind: isPaused ? 'resume' : 'pause', topic })}
    >
      {isPaused ? 'Resume…' : 'Pause…'}
    </button>
  )
}

function TopicActions({ topic, onWish }: WishProps & { readonly topic: string }): JSX.Element {
  const control = stats.value?.controls.find((candidate) => candidate.topic === topic)
  const limit = control?.limit
  return (
    <>
      <PauseButton topic={topic} isPaused={control?.paused !== undefined} onWish={onWish} />
      <button
        disabled={!isReachable.value}
        aria-label={`Limit ${topic}`}
        onClick={() => onWish({ kind: 'limit', topic, ...(limit === undefined ? {} : { limit }) })}
      >
        Limit…
      </button>
    </>
  )
}
