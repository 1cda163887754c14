/** What is being done to many, with its progress, on every page until it is put away. */
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { call, inQueue, troubleOf } from '../state/api.ts'
import { every } from '../state/clock.ts'
import { forgetJob, hearJob, jobs } from '../state/live.ts'
import { mayOperate, session } from '../state/session.ts'
import type { ManyJob } from '../state/wire.ts'
import { count } from '../time/words.ts'

export function JobTray(): JSX.Element | null {
  const shown = jobs.value.slice(0, 3)
  if (shown.length === 0) return null
  return (
    <section class="tray" aria-label="What is under way" aria-live="polite">
      {shown.map((job) => (
        <Job key={job.id} job={job} />
      ))}
    </section>
  )
}

const DOING: Readonly<Record<string, readonly [string, string]>> = {
  cancel: ['Cancelling', 'Cancelled'],
  reschedule: ['Moving', 'Moved'],
  revive: ['Reviving', 'Revived'],
  purge: ['Purging', 'Purged'],
}

/** So often a job is asked about: the stream may be paused. */
const ASK_MS = 3_000

function Job({ job }: { readonly job: ManyJob }): JSX.Element {
  const { id, state, done, confirmed } = job
  useEffect(() => (state === 'running' ? every(ASK_MS, () => void askJob(id)) : undefined), [id, state])
  return (
    <div class={`job job-${state}`}>
      <p>
        {describeJob(job)}
        {isOther(job) && <span class="soft"> by {job.who}</span>}
      </p>
      {state === 'running' && (
        <progress
          value={Math.min(done, confirmed)}
          max={Math.max(1, confirmed)}
          aria-label={describeJob(job)}
        />
      )}
      {state === 'running' && mayOperate() ? (
        <button class="quiet" onClick={() => void stopJob(id)}>
          Stop
        </button>
      ) : (
        state !== 'running' && (
          <button class="quiet" aria-label="Put away" onClick={() => forgetJob(id)}>
            ✕
          </button>
        )
      )}
    </div>
  )
}

function isOther({ who }: ManyJob): boolean {
  return session.value.kind === 'in' && who !== session.value.viewer.name
}

async function askJob(id: string): Promise<void> {
  try {
    hearJob(await call<ManyJob>('GET', inQueue('bulk', id)))
  } catch (error) {
    // A server that was started anew knows nothing of it.
    if (troubleOf(error).status === 404) forgetJob(id)
  }
}

async function stopJob(id: string): Promise<void> {
  try {
    hearJob(await call<ManyJob>('DELETE', inQueue('bulk', id)))
  } catch (error) {
    // It may have ended meanwhile; the stream tells how. Anything else the line below the header tells.
    if (troubleOf(error).status === 404) forgetJob(id)
  }
}

function describeJob({ action, state, done, confirmed, running = 0, error }: ManyJob): string {
  const [doing, did] = DOING[action] ?? [action, action]
  const left = running > 0 ? ` ${count(running)} ran meanwhile and were left alone.` : ''
  switch (state) {
    case 'running':
      return `${doing} ${count(done)} of ${count(confirmed)}`
    case 'done':
      return `${did} ${count(done)}.${left}`
    case 'stopped':
      return `Stopped: ${did.toLowerCase()} ${count(done)} of ${count(confirmed)}.`
    case 'capped':
      return `Stopped by itself after ${count(done)}: more match now than the ${count(confirmed)} you saw.`
    default:
      return `Failed after ${count(done)}: ${error ?? 'no reason given'}`
  }
}
