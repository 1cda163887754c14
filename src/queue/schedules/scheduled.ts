/**
 * What schedules will bring: counted from their rhythms, because only what falls due within the next minute or two is
 * stored already. Bounded: of so many schedules, and so many moments of cron expressions, in all.
 */
import { SCHEDULES_TOPIC } from '../../core/control.ts'
import { begun, recurrenceOf } from '../../core/recurrence/firing.ts'
import { decodeSchedule, type StoredSchedule } from '../../core/recurrence/spec.ts'
import type { Store, StoredMessage } from '../../store/contract/store.ts'

const SCHEDULES_MAX = 10_000
const MOMENTS_MAX = 20_000
const PAGE = 500
/** A worker looks at a schedule for milliseconds. */
const READS_MAX = 10

export type Scheduled = { readonly counts: readonly number[]; readonly isExact: boolean }

/** For each bar between two edges, beyond what schedules have placed. Undefined where there are none. */
export async function countScheduled(
  store: Store,
  { edges, topic }: { readonly edges: readonly number[]; readonly topic?: string },
): Promise<Scheduled | undefined> {
  const schedules = await readSchedules(store)
  if (schedules === undefined) return undefined
  const counts = edges.slice(1).map(() => 0)
  const looks = { left: MOMENTS_MAX }
  for (const schedule of schedules)
    if (topic === undefined || schedule.plan.topic === topic) addTo(counts, edges, schedule, looks)
  return { counts, isExact: schedules.length < SCHEDULES_MAX && looks.left > 0 }
}

/**
 * They are read state by state, and one goes from state to state whenever a worker looks at it: it may be met twice, or
 * not at all. So each counts once, as it was read last, and where some were not met all are read again.
 */
async function readSchedules(store: Store): Promise<readonly StoredSchedule[] | undefined> {
  const seen = new Map<string, StoredSchedule | undefined>()
  for (let tries = 1; tries <= READS_MAX; tries += 1) {
    const { topics, missing } = await store.countTopics({ topics: [SCHEDULES_TOPIC] })
    const { waiting = 0, running = 0 } = topics[SCHEDULES_TOPIC] ?? {}
    if (waiting + running === 0) return undefined
    const isWhole = await readInto(seen, store)
    if (seen.size >= Math.min(waiting + running, SCHEDULES_MAX) || missing !== undefined || !isWhole) break
  }
  return [...seen.values()].filter((schedule) => schedule !== undefined)
}

/** False: a partition did not answer, and may not the next time either. */
async function readInto(seen: Map<string, StoredSchedule | undefined>, store: Store): Promise<boolean> {
  const limit = Math.min(PAGE, store.capabilities.batchMax)
  let isWhole = true
  for (const state of ['delayed', 'ready', 'running'] as const) {
    let cursor: string | undefined
    do {
      const about = cursor === undefined ? {} : { cursor }
      const page = await store.inspect({ state, topic: SCHEDULES_TOPIC, limit, ...about })
      for (const item of page.items) {
        if (seen.size >= SCHEDULES_MAX) return isWhole
        seen.set(item.id, scheduleOf(item))
      }
      isWhole &&= page.missing === undefined
      cursor = page.cursor
    } while (cursor !== undefined)
  }
  return isWhole
}

/** Without its payload, of which there may be many. Undefined: another version stored it. */
function scheduleOf({ body, firstDueAt }: StoredMessage): StoredSchedule | undefined {
  const stored = decodeSchedule(JSON.parse(body))
  if (stored === undefined) return undefined
  const schedule = { plan: { ...stored.plan, body: '' }, progress: stored.progress }
  // No worker has looked at one that was just set: what it would begin with is known all the same.
  return schedule.progress.change === 'set' ? begun(schedule, firstDueAt) : schedule
}

function addTo(
  counts: number[],
  edges: readonly number[],
  { plan, progress }: StoredSchedule,
  looks: { left: number },
): void {
  if (progress.isPaused || progress.isRemoved === true || progress.until === undefined) return
  const recurrence = recurrenceOf(plan, progress, progress.until)
  let left = (plan.times ?? Infinity) - progress.fired
  let from = progress.until
  for (const [bar, count] of counts.entries()) {
    const [start = 0, end = 0] = [edges[bar], edges[bar + 1]]
    from = Math.max(from, start - 1)
    if (from >= end - 1) continue
    if (left <= 0 || looks.left <= 0) return
    const found = recurrence.countBetween(from, end, looks.left)
    const taken = Math.min(found.count, left)
    counts[bar] = count + taken
    left -= taken
    looks.left -= 'cron' in plan.rhythm ? found.count + 1 : 1
  }
}
