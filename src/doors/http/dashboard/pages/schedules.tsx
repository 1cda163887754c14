/** Schedules: what recurs, when next, what was skipped; each opens to its next occurrences. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { FoundSchedule } from '../../../../index.ts'
import { usePerform } from '../actions/perform.ts'
import { Copyable } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Answered, Empty, TroubleLine } from '../parts/notice.tsx'
import { Name, plainName, Text } from '../parts/name.tsx'
import { PageHead } from '../parts/shell.tsx'
import { When } from '../parts/when.tsx'
import { changeQuery, linkTo, place, queryHref } from '../state/address.ts'
import { inQueue } from '../state/api.ts'
import { useAnswer } from '../state/ask.ts'
import { now } from '../state/clock.ts'
import { isReachable } from '../state/live.ts'
import { zone } from '../state/preferences.ts'
import { mayOperate } from '../state/session.ts'
import type { ScheduleDetail, ScheduleSpecShown } from '../state/wire.ts'
import { count, dayAndTime, distance, firstLine, span } from '../time/words.ts'
import { ScheduleForm } from './schedule-form.tsx'

type SchedulesAnswer = { readonly items: readonly FoundSchedule[]; readonly cursor?: string }

const EXAMPLE = `await queue.schedules.set('digest', {\n  topic: 'mail.digest',\n  cron: '0 9 * * mon-fri',\n  zone: 'Europe/Berlin',\n})`

export function SchedulesPage(): JSX.Element {
  const cursor = place.value.query.get('cursor')
  const [isMaking, setMaking] = useState(false)
  const answer = useAnswer<SchedulesAnswer>(
    inQueue('schedules') + (cursor === null ? '' : `?cursor=${encodeURIComponent(cursor)}`),
  )
  return (
    <>
      <PageHead title="Schedules">
        <span class="space" />
        {mayOperate() && (
          <button disabled={!isReachable.value} onClick={() => setMaking(true)}>
            New schedule…
          </button>
        )}
      </PageHead>
      {isMaking && <ScheduleForm onClose={() => setMaking(false)} />}
      <Answered answer={answer}>
        {({ items, cursor: next }) => (
          <>
            {items.length === 0 && next === undefined && (
              <Empty title="No schedules.">
                <p>
                  A schedule produces a message at every moment of its rhythm, exactly once, whichever worker
                  is alive.
                </p>
                <Copyable label="in TypeScript" text={EXAMPLE} />
              </Empty>
            )}
            <ul class="schedules">
              {items.map((schedule) => (
                <Schedule key={schedule.name} schedule={schedule} />
              ))}
            </ul>
            {next !== undefined && (
              <a class="button" href={queryHref({ cursor: next })}>
                Next page
              </a>
            )}
          </>
        )}
      </Answered>
    </>
  )
}

function Schedule({ schedule }: { readonly schedule: FoundSchedule }): JSX.Element {
  const { name, topic, state, nextAt, lastAt, fired, skipped, caughtUp } = schedule
  const isOpen = place.value.query.get('open') === name
  return (
    <li class={state === 'active' ? '' : 'is-over'}>
      <div class="schedule-head">
        <div>
          <h2>
            <button
              class="link"
              aria-expanded={isOpen}
              onClick={() => changeQuery({ open: isOpen ? undefined : name }, 'replace')}
            >
              <Name text={name} />
            </button>
          </h2>
          <p class="soft">
            {rhythmText(schedule)} ·{' '}
            <a href={linkTo('messages', { topic })}>
              <Text text={topic} />
            </a>
          </p>
        </div>
        <p class="schedule-next">
          {state === 'active' && nextAt !== undefined ? (
            <>
              <strong>{distance(nextAt, now.value)}</strong>
              <span class="soft">{dayAndTime(nextAt, zone.value)}</span>
            </>
          ) : (
            <strong>{state}</strong>
          )}
        </p>
        {mayOperate() && <ScheduleActions schedule={schedule} />}
      </div>
      <p class="soft">
        {count(fired)} fired{skipped > 0 && `, ${count(skipped)} skipped`}
        {caughtUp > 0 && `, ${count(caughtUp)} of them caught up`}
        {lastAt !== undefined && `, last ${distance(lastAt, now.value)}`}
      </p>
      {isOpen && <Occurrences name={name} />}
    </li>
  )
}

function rhythmText({ cron, zone: name, days, except = [], everyMs }: FoundSchedule): string {
  if (everyMs !== undefined) return `every ${span(everyMs)}`
  const but =
    except.length === 0 ? '' : `, not on ${except.length === 1 ? except[0] : `${except.length} days`}`
  return `${cron ?? ''} ${name ?? 'UTC'}${days === undefined ? '' : `, ${days}`}${but}`
}

const LAST_WORDS = {
  delayed: 'waits for its moment',
  ready: 'is due, and waits for a worker',
  running: 'runs',
  dead: 'is dead',
  completed: 'was completed',
  gone: 'is over: completed, cancelled or purged',
} as const

function Occurrences({ name }: { readonly name: string }): JSX.Element {
  const answer = useAnswer<ScheduleDetail>(`${inQueue('schedules', name)}?next=10`)
  return (
    <Answered answer={answer}>
      {({ next, last }) => (
        <>
          {last !== undefined && (
            <>
              <h3>Last occurrence</h3>
              <p>
                <When at={last.at} />{' '}
                {last.state === 'gone' ? (
                  LAST_WORDS.gone
                ) : (
                  <a class={`state-${last.state}`} href={linkTo('messages', {}, last.id)}>
                    {LAST_WORDS[last.state]}
                  </a>
                )}
                {last.error !== undefined && (
                  <span class="line is-bad">
                    <Text text={firstLine(last.error)} />
                  </span>
                )}
              </p>
            </>
          )}
          <h3>Next occurrences</h3>
          {next.length === 0 ? (
            <p class="soft">None comes.</p>
          ) : (
            <ol class="occurrences">
              {next.map((at) => (
                <li key={at}>
                  <When at={at} />
                </li>
              ))}
            </ol>
          )}
        </>
      )}
    </Answered>
  )
}

function ScheduleActions({ schedule: { name, state } }: { readonly schedule: FoundSchedule }): JSX.Element {
  const [isRemoving, setRemoving] = useState(false)
  const [changing, setChanging] = useState<ScheduleSpecShown | undefined>(undefined)
  const [firedId, setFired] = useState<string | undefined>(undefined)
  const shown = plainName(name)
  const { isBusy, trouble, perform } = usePerform()
  const path = inQueue('schedules', name)
  const isOff = isBusy || !isReachable.value
  const close = (): void => setRemoving(false)
  return (
    <span class="actions">
      <button
        disabled={isOff}
        aria-label={`Fire now: ${shown}`}
        onClick={() =>
          perform({ method: 'POST', path: `${path}/fire`, body: {} }, (fired) =>
            setFired((fired as { id: string }).id),
          )
        }
      >
        Fire now
      </button>
      <button
        disabled={isOff}
        aria-label={`Change ${shown}`}
        onClick={() =>
          perform({ method: 'GET', path }, (found) => setChanging((found as ScheduleDetail).spec))
        }
      >
        Change…
      </button>
      {state === 'active' && (
        <button
          disabled={isOff}
          aria-label={`Pause ${shown}`}
          onClick={() => perform({ method: 'PUT', path: `${path}/pause`, body: {} }, close)}
        >
          Pause
        </button>
      )}
      {state === 'paused' && (
        <button
          disabled={isOff}
          aria-label={`Resume ${shown}`}
          onClick={() => perform({ method: 'DELETE', path: `${path}/pause` }, close)}
        >
          Resume
        </button>
      )}
      <button disabled={isOff} aria-label={`Remove ${shown}`} onClick={() => setRemoving(true)}>
        Remove…
      </button>
      <TroubleLine trouble={trouble} />
      {firedId !== undefined && <a href={linkTo('messages', {}, firedId)}>Fired: see the message</a>}
      {changing !== undefined && (
        <ScheduleForm known={{ name, spec: changing }} onClose={() => setChanging(undefined)} />
      )}
      {isRemoving && (
        <Dialog title={`Remove ${shown}`} onClose={close}>
          <p>It ends, and occurrences that wait for their moment are withdrawn. This cannot be taken back.</p>
          <footer>
            <span class="space" />
            <button onClick={close}>Keep it</button>
            <button class="main is-bad" onClick={() => perform({ method: 'DELETE', path }, close)}>
              Remove the schedule
            </button>
          </footer>
        </Dialog>
      )}
    </span>
  )
}
