/** What a person should look at: the worst first, each with its reason and the way to it. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { FoundControl, OverdueTopic } from '../../../../index.ts'
import { ControlDialog, controlText, type ControlWish } from '../actions/controls.tsx'
import { Text } from '../parts/name.tsx'
import { linkTo } from '../state/address.ts'
import { now } from '../state/clock.ts'
import { isReachable, stats, topics } from '../state/live.ts'
import { mayOperate } from '../state/session.ts'
import { ago, count, firstLine, plural } from '../time/words.ts'
import { useDeadGroups } from './dead-groups.ts'

const SHOWN = 4

export function NeedsYou(): JSX.Element {
  const [wish, setWish] = useState<ControlWish | undefined>(undefined)
  const dead = stats.value?.counts.dead ?? 0
  const { gathered } = useDeadGroups(undefined, dead > 0)
  const controls = stats.value?.controls ?? []
  const overdue = topics.value?.overdue ?? []
  const paused = controls.filter((control) => control.paused !== undefined)
  const isCalm = stats.value !== undefined && overdue.length === 0 && dead === 0 && paused.length === 0
  return (
    <section class="panel needs" aria-label="Needs you">
      <div class="panel-head">
        <h2>Needs you</h2>
      </div>
      {isCalm && <p class="calm">Nothing: no message is overdue or dead, no topic is paused.</p>}
      <ul>
        {overdue.slice(0, SHOWN).map((late) => (
          <li key={late.topic} class="is-late">
            <p>
              <strong>
                <Text text={late.topic} />
              </strong>{' '}
              overdue for {ago(late.oldestDueAt, now.value)}: {whyOverdue(late, controls)}
            </p>
            <span class="actions">
              <a class="button" href={linkTo('messages', { state: 'ready', topic: late.topic })}>
                List
              </a>
              {late.workers === 0 && (
                <a class="button" href={linkTo('workers')}>
                  Workers
                </a>
              )}
            </span>
          </li>
        ))}
        {overdue.length > SHOWN && (
          <li>
            <a href={linkTo('topics')}>and {plural(overdue.length - SHOWN, 'other overdue topic')}</a>
          </li>
        )}
        {dead > 0 && (
          <li class="is-dead">
            <p>
              <strong>{plural(dead, 'dead letter')}</strong>
              {gathered?.groups.slice(0, 3).map(({ key, count: n, error, reason }) => (
                <span class="line" key={key}>
                  {count(n)} × <Text text={firstLine(error === '' ? reason : error, 80)} />
                </span>
              ))}
            </p>
            <span class="actions">
              <a class="button" href={linkTo('dead')}>
                Look
              </a>
            </span>
          </li>
        )}
        {paused.slice(0, SHOWN).map((control) => (
          <li key={control.topic ?? ''} class="is-paused">
            <p>
              <strong>
                {control.topic === undefined ? 'The whole queue' : <Text text={control.topic} />}
              </strong>{' '}
              is {controlText(control)}
            </p>
            {mayOperate() && (
              <span class="actions">
                <button
                  disabled={!isReachable.value}
                  onClick={() => setWish({ kind: 'resume', topic: control.topic })}
                >
                  Resume…
                </button>
              </span>
            )}
          </li>
        ))}
      </ul>
      {wish !== undefined && <ControlDialog wish={wish} onClose={() => setWish(undefined)} />}
    </section>
  )
}

/** The first reason that explains it. */
function whyOverdue({ topic, workers }: OverdueTopic, controls: readonly FoundControl[]): string {
  const mine = controls.filter((control) => control.topic === undefined || control.topic === topic)
  const stopped = mine.find((control) => control.paused !== undefined)
  if (stopped !== undefined) return stopped.topic === undefined ? 'the whole queue is paused' : 'it is paused'
  if (workers === 0) return 'no living worker handles it'
  if (mine.some(({ limit, over }) => limit !== undefined || over !== undefined))
    return 'its limit lets no more start'
  return workers === undefined ? 'its workers do not keep up' : `${plural(workers, 'worker')} do not keep up`
}
