/**
 * What schedules will bring: counted from their rhythms, because only what falls due within the next minute or two is
 * stored already. Bounded: of so many schedules, and so many moments of cron expressions, in all.
 */
import { SCHEDULES_TOPIC } from '../../core/control.ts'
import { begun, recurrenceOf } from '../../core/recurrence/firing.ts'
import { decodeSchedule, type StoredSchedule } from '../../core/recurrence/spec.ts'
import type { Store } from '../../store/contract/store.ts'

const SCHEDULES_MAX = 10_000
const MOMENTS_MAX = 20_000
const PAGE = 500

export type Scheduled = { readonly counts: readonly number[]; readonly isExact: boolean }

/** For each bar between two edges, beyond what schedules have placed. Undefined where there are none. */
export async function countScheduled(
  store: Store,
  { edges, topic }: { readonly edges: readonly number[]; readonly topic?: string },
): Promise<Scheduled | undefined> {
  const { topics } = await store.countTopics({ topics: [SCHEDULES_TOPIC] })
  const { waiting = 0, running = 0 } = topics[SCHEDULES_TOPIC] ?? {}
  if (waiting + running === 0) return undefined
  const counts = edges.slice(1).map(() => 0)
  const looks = { left: MOMENTS_MAX }
  let seen = 0
  for await (const schedule of everySchedule(store)) {
    seen += 1
    if (seen > SCHEDULES_MAX || looks.left <= 0) return { counts, isExact: false }
    if (topic === undefined || schedule.plan.topic === topic) addTo(counts, edges, schedule, looks)
  }
  return { counts, isExact: looks.left > 0 }
}

async function* everySchedule(store: Store): AsyncGenerator<StoredSchedule> {
  const limit = Math.min(PAGE, store.capabilities.batchMax)
  for (const state of ['delayed', 'ready', 'running'] as const) {
    let cursor: string | undefined
    do {
      const about = cursor === undefined ? {} : { cursor }
      const page = await store.inspect({ state, topic: SCHEDULES_TOPIC, limit, ...about })
      for (const { body, firstDueAt } of page.items) {
        const schedule = decodeSchedule(JSON.parse(body))
        // No worker has looked at one that was just set: what it would begin with is known all the same.
        if (schedule !== undefined)
          yield schedule.progress.change === 'set' ? begun(schedule, firstDueAt) : schedule
      }
      cursor = page.cursor
    } while (cursor !== undefined)
  }
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
