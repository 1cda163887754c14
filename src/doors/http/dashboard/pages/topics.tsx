/** Topics: what waits in each, and the brakes: pause, resume over some time, limit. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { ControlDialog, controlText, type ControlWish } from '../actions/controls.tsx'
import { PageHead } from '../parts/shell.tsx'
import { changeQuery, place } from '../state/address.ts'
import { now } from '../state/clock.ts'
import { isReachable, stats, topics } from '../state/live.ts'
import { mayOperate } from '../state/session.ts'
import { count } from '../time/words.ts'
import { TopicTable } from './topic-table.tsx'

const SHOWN = 100

export function TopicsPage(): JSX.Element {
  const [wish, setWish] = useState<ControlWish | undefined>(undefined)
  const wanted = place.value.query.get('name') ?? ''
  const controls = stats.value?.controls ?? []
  const whole = controls.find(({ topic }) => topic === undefined)
  // A topic that is held back and empty is still worth a line.
  const names = [
    ...new Set([...Object.keys(topics.value?.topics ?? {}), ...controls.flatMap(({ topic }) => topic ?? [])]),
  ]
  const found = names.filter((name) => name.includes(wanted))
  return (
    <>
      <PageHead title="Topics">
        <span class="space" />
        <input
          type="search"
          aria-label="Topics whose name contains"
          placeholder="Name contains"
          value={wanted}
          onInput={(event) => changeQuery({ name: event.currentTarget.value }, 'replace')}
        />
      </PageHead>
      <div class="whole-queue">
        <p>
          <strong>The whole queue</strong>{' '}
          {whole === undefined ? 'is not held back.' : `is ${controlText(whole, now.value) ?? ''}.`}
        </p>
        {mayOperate() && (
          <PauseButton topic={undefined} isPaused={whole?.paused !== undefined} onWish={setWish} />
        )}
      </div>
      <TopicTable
        names={found.slice(0, SHOWN)}
        {...(mayOperate()
          ? { actions: (topic: string) => <TopicActions topic={topic} onWish={setWish} /> }
          : {})}
      />
      {(found.length > SHOWN || topics.value?.moreTopics === true) && (
        <p class="soft">
          {count(Math.min(SHOWN, found.length))} shown, those with most waiting first. Narrow the name to see
          others.
        </p>
      )}
      {wish !== undefined && <ControlDialog wish={wish} onClose={() => setWish(undefined)} />}
    </>
  )
}

type WishProps = { readonly topic: string | undefined; readonly onWish: (wish: ControlWish) => void }

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
