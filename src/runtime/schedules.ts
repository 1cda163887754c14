/**
 * The lane of schedules: each is a message of our own, which falls due ahead of its next occurrence. Whichever worker
 * gets it decides what fires, and settles once: the schedule due again, and its occurrences stored, in one fenced step.
 * If we die before, another worker does the same; if our lease was lost, or an edit has seized the schedule, nothing of
 * what we decided is stored (P13).
 */
import { SCHEDULES_TOPIC } from '../core/control.ts'
import { InvariantError } from '../core/errors.ts'
import { RETRY_LIMIT_MAX } from '../core/input/handle-options.ts'
import { decideFiring, type Firing } from '../core/recurrence/firing.ts'
import {
  decodeSchedule,
  encodeSchedule,
  occurrenceId,
  scheduleName,
  type StoredSchedule,
} from '../core/recurrence/spec.ts'
import { spreadMs } from '../core/spread.ts'
import type { Lease, NewMessage, Store } from '../store/contract/store.ts'
import { Lane, type OwnEnd } from './runs/lane.ts'

/** How many schedules one worker looks at at once; each takes milliseconds. */
const CONCURRENCY = 20
const TIMEOUT_MS = 30_000
/** A schedule that ended stays, so that setting it again has no effect. It is looked at once in a long while. */
const PARKED_MS = 365 * 86_400_000
/** It is never given up. */
const RETRY = {
  limit: RETRY_LIMIT_MAX,
  waits: { baseMs: 1_000, factor: 2, capMs: 60_000, jitter: 0.2 },
} as const

export type SchedulesLaneParts = {
  readonly store: Store
  readonly onFailure: (name: string, error: unknown) => void
}

export function schedulesLane({ store, onFailure }: SchedulesLaneParts): Lane {
  const own = async (lease: Lease, payload: unknown, latenessMs: number): Promise<OwnEnd> => {
    try {
      return await fire(store, lease, payload, latenessMs)
    } catch (error) {
      onFailure(scheduleName(lease.id), error)
      throw error
    }
  }
  const settings = { concurrency: CONCURRENCY, timeoutMs: TIMEOUT_MS, retry: RETRY }
  return new Lane(SCHEDULES_TOPIC, () => undefined, settings, { own })
}

async function fire(store: Store, lease: Lease, payload: unknown, latenessMs: number): Promise<OwnEnd> {
  const schedule = decodeSchedule(payload)
  const name = scheduleName(lease.id)
  if (schedule === undefined)
    throw new InvariantError(`the schedule "${name}" was stored by another version of punctual`)
  if (schedule.progress.isRemoved === true) return { again: undefined, carried: { followUps: [] } }
  const now = Math.floor(lease.dueAt + latenessMs)
  const isBusy = await isLastUnderWay(store, name, schedule)
  const firing = decideFiring({ ...schedule, now, changedAt: lease.firstDueAt, isBusy })
  return {
    again: { at: firing.nextAt ?? now + PARKED_MS },
    carried: {
      followUps: firing.moments.map((at) => occurrence(name, schedule, at)),
      content: contentOf(schedule, firing),
    },
  }
}

function contentOf({ plan }: StoredSchedule, { progress }: Firing): { body: string; meta: string } {
  return { body: encodeSchedule({ plan, progress }), meta: '' }
}

/** Once it is neither waiting nor running, it stays so: looking before the settlement is soon enough. */
async function isLastUnderWay(
  store: Store,
  name: string,
  { plan, progress }: StoredSchedule,
): Promise<boolean> {
  if (plan.overlap === 'allow' || progress.lastAt === undefined) return false
  const [last] = (await store.inspect({ ids: [occurrenceId(name, progress.lastAt)] })).items
  return last !== undefined && last.state !== 'dead'
}

function occurrence(name: string, { plan }: StoredSchedule, at: number): NewMessage {
  const { topic, body, meta, priority, key, spreadMs: windowMs } = plan
  const id = occurrenceId(name, at)
  const when = { at: at + spreadMs(id, windowMs) }
  const keyPart = key === undefined ? {} : { key }
  return { id, topic, body, meta, ...keyPart, priority, when, ifExists: 'keep' }
}
