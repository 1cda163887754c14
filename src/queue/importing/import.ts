/**
 * Brings the jobs of another package's queue into one of ours. The other queue is read and left as it is, so that this can
 * be ended anywhere and done again: a job whose id is there already, waiting, dead or remembered, is not placed twice.
 */
import { isUnavailable, PunctualError } from '../../core/errors.ts'
import { cutBatches } from '../../core/turn.ts'
import { sizeOfRestored } from '../../store/contract/sizes.ts'
import type { RestoredMessage, Store } from '../../store/contract/store.ts'
import type { ForeignJob, ForeignQueue, ForeignSchedule } from '../../store/engine.ts'
import { messageOf, specOf, type ImportRules } from './message.ts'
import type { ScheduleSpec } from '../../core/recurrence/spec.ts'

/** What of `queue.schedules` is needed. */
export type ScheduleBook = {
  readonly get: (name: string) => Promise<unknown>
  readonly set: (name: string, spec: ScheduleSpec) => Promise<unknown>
}

export type ImportParts = {
  readonly from: ForeignQueue
  readonly store: Store
  readonly schedules: ScheduleBook
  readonly rules: ImportRules
  readonly now: number
  readonly isDryRun: boolean
  readonly onProgress: (count: number) => void
}

export type ImportReport = {
  /** Placed by this call; in a dry run, what would be. */
  readonly imported: number
  /** Whose id was there: imported before, or done since. */
  readonly present: number
  readonly schedules: number
  readonly presentSchedules: number
  /** Whose id is taken by a message with another payload or topic. */
  readonly conflicts: readonly string[]
  /** What stays where it is, by reason and name. */
  readonly leftOut: readonly LeftOut[]
  /** What single jobs lose on the way, by reason and name. */
  readonly without: readonly LeftOut[]
}

export type LeftOut = { readonly why: string; readonly name: string; readonly count: number }

export async function importQueue(parts: ImportParts): Promise<ImportReport> {
  const { from, onProgress } = parts
  const leftOut = new Reasons()
  const without = new Reasons()
  const conflicts: string[] = []
  let [imported, present] = [0, 0]
  for await (const page of from.jobs()) {
    const messages = page.flatMap((job) => toMessages(job, parts, leftOut, without))
    const placed = await place(parts, messages)
    imported += placed.imported
    present += placed.present
    conflicts.push(...placed.conflicts)
    onProgress(page.length)
  }
  const schedules = await importSchedules(parts, leftOut)
  for (const { why, name, count } of await from.rest()) leftOut.add(why, name, count)
  return { imported, present, ...schedules, conflicts, leftOut: leftOut.list(), without: without.list() }
}

function toMessages(
  job: ForeignJob,
  parts: ImportParts,
  leftOut: Reasons,
  without: Reasons,
): RestoredMessage[] {
  const message = messageOf(job, parts.rules, parts.now)
  if (typeof message === 'string') {
    leftOut.add(message, job.name)
    return []
  }
  if (job.without !== undefined) without.add(job.without, job.name)
  return [message]
}

type Placed = { readonly imported: number; readonly present: number; readonly conflicts: readonly string[] }

async function place(
  { store, isDryRun }: ImportParts,
  messages: readonly RestoredMessage[],
): Promise<Placed> {
  if (messages.length === 0) return { imported: 0, present: 0, conflicts: [] }
  const { batchMax, batchBytesMax } = store.capabilities
  const limits = { entriesMax: batchMax, bytesMax: batchBytesMax, sizeOf: sizeOfRestored }
  const { items } = await store.inspect({ ids: messages.map(({ id }) => id) })
  const there = new Map(items.map((item) => [item.id, item]))
  const isOther = ({ id, topic, body }: RestoredMessage): boolean => {
    const found = there.get(id)
    return (
      found !== undefined && (found.topic !== topic || (found.state !== 'completed' && found.body !== body))
    )
  }
  const conflicts = messages.filter(isOther).map(({ id }) => id)
  const wanted = messages.filter(({ id }) => !there.has(id))
  let imported = isDryRun ? wanted.length : 0
  if (!isDryRun && wanted.length > 0) {
    for (const batch of cutBatches(wanted, limits))
      imported += (await store.restore(batch)).filter((result) => result === 'restored').length
  }
  return { imported, present: messages.length - imported - conflicts.length, conflicts }
}

async function importSchedules(
  { from, schedules, rules, isDryRun }: ImportParts,
  leftOut: Reasons,
): Promise<{ readonly schedules: number; readonly presentSchedules: number }> {
  let [made, present] = [0, 0]
  for (const schedule of await from.schedules()) {
    const why = schedule.leftOut ?? (await setSchedule(schedule))
    if (why === 'made') made += 1
    else if (why === 'present') present += 1
    else leftOut.add(why, schedule.jobName)
  }
  return { schedules: made, presentSchedules: present }

  /** What is no word of ours is why it cannot be one. */
  async function setSchedule(schedule: ForeignSchedule): Promise<string> {
    try {
      if ((await schedules.get(schedule.name)) !== undefined) return 'present'
      const spec = specOf(schedule, rules)
      if (!isDryRun) await schedules.set(schedule.name, spec)
      return 'made'
    } catch (error) {
      if (isUnavailable(error) || !(error instanceof PunctualError || error instanceof SyntaxError))
        throw error
      return `it cannot be a schedule: ${error.message}`
    }
  }
}

/** How often what could not be done, by reason and name. */
class Reasons {
  readonly #counts = new Map<string, LeftOut>()

  add(why: string, name: string, count = 1): void {
    const key = JSON.stringify([why, name])
    this.#counts.set(key, { why, name, count: count + (this.#counts.get(key)?.count ?? 0) })
  }

  list(): readonly LeftOut[] {
    return [...this.#counts.values()]
  }
}
