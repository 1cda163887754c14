/**
 * A schedule that both sides have. Processes set their schedules when they start, so that the target often has them before
 * the move. Of two that say the same, the one that was set first goes on, with its progress; the other is let go, with all
 * that it has placed. One that was removed, and is only kept so that it is not placed again, makes way for the other. Two
 * that say different things are left for people to decide.
 */
import { recurrenceOf } from '../../core/recurrence/firing.ts'
import {
  decodeSchedule,
  isSamePlan,
  occurrenceId,
  scheduleName,
  type StoredSchedule,
} from '../../core/recurrence/spec.ts'
import type { Store, StoredMessage } from '../../store/contract/store.ts'

/** What one schedule can have placed while it stood beside another. */
const PLACED_MAX = 10_000

export type Side = 'source' | 'target'

/** Which of both goes on; undefined where that is not for us to say. */
export function survivorOf(inSource: StoredMessage, inTarget: StoredMessage): Side | undefined {
  const [ours, theirs] = [scheduleIn(inSource), scheduleIn(inTarget)]
  if (ours === undefined || theirs === undefined) return undefined
  if (ours.progress.isRemoved === true) return 'target'
  if (theirs.progress.isRemoved === true) return 'source'
  if (!isSamePlan(ours.plan, theirs.plan)) return undefined
  return inSource.producedAt < inTarget.producedAt ? 'source' : 'target'
}

/** What to do about two that say different things. */
export function describeRivals(id: string): string {
  const name = scheduleName(id)
  return `the target has a schedule of this name that says something else; remove one of both ("punctual schedule remove ${name}" with the --store of that side) and run the same move again`
}

/**
 * Takes a schedule out of the store in which it does not go on; answers how many occurrences it had placed there. These go first:
 * if we die in between, we come back.
 */
export async function letGo(store: Store, message: StoredMessage): Promise<number> {
  const schedule = scheduleIn(message)
  if (schedule === undefined) return 0
  const ids = placedBy(schedule, message).map((at) => occurrenceId(scheduleName(message.id), at))
  const { batchMax } = store.capabilities
  let withdrawn = 0
  for (let from = 0; from < ids.length; from += batchMax) {
    const results = await store.remove(ids.slice(from, from + batchMax), 'waiting')
    withdrawn += results.filter((result) => result === 'removed').length
  }
  await store.remove([message.id], 'waiting')
  return withdrawn
}

function placedBy({ plan, progress }: StoredSchedule, { producedAt, firstDueAt }: StoredMessage): number[] {
  const { until } = progress
  // What was removed has withdrawn what was to come; what was due before is owed.
  if (until === undefined || progress.isRemoved === true) return []
  return recurrenceOf(plan, progress, firstDueAt).between(producedAt - 1, until, PLACED_MAX)
}

function scheduleIn({ body }: StoredMessage): StoredSchedule | undefined {
  try {
    return decodeSchedule(JSON.parse(body))
  } catch {
    return undefined
  }
}
