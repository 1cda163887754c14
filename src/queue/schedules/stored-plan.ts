/** What a schedule was told, as it is stored: to be shown for editing, and to be fired out of turn. */
import { decodePayload, decodePolicy } from '../../core/encoding/codec.ts'
import { retryOptionsOf } from '../../core/input/handle-options.ts'
import { priorityName } from '../../core/message.ts'
import { recurrenceOf } from '../../core/recurrence/firing.ts'
import {
  checkScheduleName,
  decodeSchedule,
  scheduleId,
  type SchedulePlan,
  type ScheduleSpec,
  type StoredSchedule,
} from '../../core/recurrence/spec.ts'
import type { Store } from '../../store/contract/store.ts'
import { makeDraft } from '../draft.ts'
import { insidesOf } from '../insides.ts'

/** Undefined: there is none. */
export async function readStored(store: Store, name: string): Promise<StoredSchedule | undefined> {
  const [found] = (await store.inspect({ ids: [scheduleId(checkScheduleName(name))] })).items
  const stored = found === undefined ? undefined : decodeSchedule(JSON.parse(found.body))
  return stored === undefined || stored.progress.isRemoved === true ? undefined : stored
}

/** So many are placed ahead at most. */
const PLACED_MAX = 1_000

/** The moment of the latest occurrence that fired and has come: those that are placed ahead are to come. Undefined: none. */
export function lastCome({ plan, progress }: StoredSchedule, now: number): number | undefined {
  const { lastAt, fired } = progress
  if (lastAt === undefined || lastAt <= now) return lastAt
  const recurrence = recurrenceOf(plan, progress, now)
  const isAnyBefore = fired > recurrence.between(now, lastAt, PLACED_MAX).length
  return isAnyBefore ? recurrence.lastBetween(0, now, 1)[0] : undefined
}

/** As `set` takes it: `set` with it changes nothing. Durations are milliseconds. */
export function specOf(plan: SchedulePlan): ScheduleSpec & { readonly remember?: number } {
  const { topic, body, meta, priority, key, rhythm, startAt, endAt, times, catchUp, overlap, spreadMs } = plan
  const { ttlMs, ifExpired, timeoutMs, rememberMs, retry, within } = decodePolicy(meta) ?? {}
  return {
    topic,
    payload: decodePayload(body),
    ...('cron' in rhythm ? rhythm : { every: rhythm.everyMs }),
    ...(startAt === undefined ? {} : { start: startAt }),
    ...(endAt === undefined ? {} : { end: endAt }),
    ...(times === undefined ? {} : { times }),
    catchUp: typeof catchUp === 'string' ? catchUp : { all: catchUp.allMs, max: catchUp.max },
    overlap,
    ...(spreadMs === 0 ? {} : { spread: spreadMs }),
    priority: priorityName(priority),
    ...(key === undefined ? {} : { key }),
    ...(ttlMs === undefined ? {} : { ttl: ttlMs }),
    ...(ifExpired === undefined ? {} : { ifExpired }),
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
    ...(rememberMs === undefined ? {} : { remember: rememberMs }),
    ...(retry === undefined ? {} : { retry: retryOptionsOf(retry) }),
    ...(within === undefined ? {} : { within }),
  }
}

/** One message as its occurrences are, due now. It is none of them: it is not counted, and does not keep another from firing. */
export async function fireNow(queue: object, plan: SchedulePlan): Promise<{ readonly id: string }> {
  const { settings, openProducer } = insidesOf(queue)
  const { topic, body, meta, priority, key } = plan
  const draft = makeDraft(settings, topic, undefined, {})
  const message = { ...draft.message, body, meta, priority, ...(key === undefined ? {} : { key }) }
  return { id: (await (await openProducer()).produceOne({ ...draft, message })).id }
}
