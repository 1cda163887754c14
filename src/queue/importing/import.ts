/**
 * Brings the jobs of another package's queue into one of ours. The other queue is read, and left as it is unless told
 * otherwise, so that this can be ended anywhere and done again: a job whose id is there already, waiting, dead or
 * remembered, is not placed twice.
 */
import { isUnavailable, PunctualError } from '../../core/errors.ts'
import {
  checkScheduleName,
  parseSpec,
  type SchedulePlan,
  type ScheduleSpec,
} from '../../core/recurrence/spec.ts'
import { cutBatches } from '../../core/gathering.ts'
import { sizeOfRestored } from '../../store/contract/sizes.ts'
import type { RestoredMessage, Store, StoredMessage } from '../../store/contract/store.ts'
import type { ForeignDone, ForeignJob, ForeignQueue, ForeignSchedule } from '../../store/foreign.ts'
import { checkedMessage } from '../draft.ts'
import type { Settings } from '../settings.ts'
import { messageOf, topicsOf, type ImportRules, type Refusal } from './message.ts'
import { isOwnOccurrence, readSchedule } from './occurrence.ts'
import { isSameSchedule, specOf, zoneOf } from './schedule.ts'

export type ImportParts = {
  readonly from: ForeignQueue
  readonly store: Store
  readonly settings: Settings
  readonly setSchedule: (name: string, spec: ScheduleSpec) => Promise<unknown>
  readonly rules: ImportRules
  readonly now: number
  readonly isDryRun: boolean
  /** What is imported is cancelled there. */
  readonly isTaking?: boolean
  readonly onProgress: (count: number) => void
}

export type ImportReport = {
  /** Placed by this call; in a dry run, what would be. */
  readonly imported: number
  /** Of those: as dead letters. */
  readonly dead: number
  /** Whose id was there: imported before, or done since; or whose moment an imported schedule brings. */
  readonly present: number
  readonly schedules: number
  readonly presentSchedules: number
  /** Whose id is taken by a message with another payload or topic. */
  readonly conflicts: readonly string[]
  /** Whose name is taken by a schedule with another payload, topic or rhythm. */
  readonly scheduleConflicts: readonly string[]
  /** The ids of messages that wait here although the workers there have done their jobs. */
  readonly doneThere: readonly string[]
  /** What stays where it is, by reason and name. */
  readonly leftOut: readonly LeftOut[]
  /** What single jobs lose on the way, by reason and name. */
  readonly without: readonly LeftOut[]
}

/** `option`: of the command, would bring it; `remedy`: what else would. */
export type LeftOut = Refusal & { readonly name: string; readonly count: number }

export function importQueue(parts: ImportParts): Promise<ImportReport> {
  return new Import(parts).run()
}

/**
 * Whether what is here came from this very job: an id may be that of another queue's job, or used again. Of one that is done
 * the body is no longer kept, but when it was produced is; a job that does not say so has the moment of the import. An import
 * without `--topic` gave it the other topic.
 */
function isSame(
  found: StoredMessage,
  { topic, body, producedAt }: RestoredMessage,
  { now, topics }: { readonly now: number; readonly topics: readonly string[] },
): boolean {
  if (!topics.includes(found.topic)) return false
  if (found.state !== 'completed' && found.body !== body) return false
  return found.producedAt === producedAt || (found.topic === topic && producedAt === Math.floor(now))
}

class Import {
  readonly #parts: ImportParts
  readonly #leftOut = new Reasons()
  readonly #without = new Reasons()
  readonly #conflicts: string[] = []
  readonly #scheduleConflicts: string[] = []
  readonly #doneThere: string[] = []
  #imported = 0
  #dead = 0
  #present = 0
  #schedules = 0
  #presentSchedules = 0

  constructor(parts: ImportParts) {
    this.#parts = parts
  }

  async run(): Promise<ImportReport> {
    const { from, onProgress } = this.#parts
    for await (const page of from.jobs()) {
      await this.#place(page)
      onProgress(page.length)
    }
    for await (const page of from.done?.() ?? []) await this.#compareDone(page)
    for (const schedule of await from.schedules()) await this.#importSchedule(schedule)
    for (const { name, count, ...refusal } of await from.rest()) this.#leftOut.add(refusal, name, count)
    return {
      imported: this.#imported,
      dead: this.#dead,
      present: this.#present,
      schedules: this.#schedules,
      presentSchedules: this.#presentSchedules,
      conflicts: this.#conflicts,
      scheduleConflicts: this.#scheduleConflicts,
      doneThere: this.#doneThere,
      leftOut: this.#leftOut.list(),
      without: this.#without.list(),
    }
  }

  async #place(jobs: readonly ForeignJob[]): Promise<void> {
    const { store, now } = this.#parts
    const messages = jobs.flatMap((job) => this.#toMessages(job))
    if (messages.length === 0) return
    const { items } = await store.inspect({ ids: messages.map(({ id }) => id) })
    const there = new Map(items.map((item) => [item.id, item]))
    const topics = this.#topicsById(jobs)
    const isOther = (message: RestoredMessage): boolean => {
      const found = there.get(message.id)
      return found !== undefined && !isSame(found, message, { now, topics: topics.get(message.id) ?? [] })
    }
    const conflicts = messages.filter(isOther).map(({ id }) => id)
    const own = await this.#ownOccurrences(
      jobs,
      messages.filter(({ id }) => !there.has(id)),
    )
    const placed = await this.#restore(messages.filter(({ id }) => !there.has(id) && !own.has(id)))
    this.#imported += placed.length
    this.#dead += placed.filter(({ state }) => state === 'dead').length
    this.#present += messages.length - placed.length - conflicts.length
    this.#conflicts.push(...conflicts)
    await this.#take(
      jobs,
      new Set([...placed, ...messages.filter((m) => there.has(m.id) && !isOther(m))].map(({ id }) => id)),
    )
  }

  #topicsById(jobs: readonly ForeignJob[]): ReadonlyMap<string, readonly string[]> {
    const { rules } = this.#parts
    return new Map(jobs.map(({ id, name }) => [(rules.idPrefix ?? '') + id, topicsOf(name, rules)]))
  }

  /**
   * An import that was killed after it had stored them, and before it cancelled them there, left them in both places. They are
   * told and not removed: that a message here may go is for a person to say.
   */
  async #compareDone(jobs: readonly ForeignDone[]): Promise<void> {
    const { store, rules } = this.#parts
    const done = new Map(jobs.map((job) => [(rules.idPrefix ?? '') + job.id, job]))
    const { items } = await store.inspect({ ids: [...done.keys()] })
    for (const { id, topic, state, producedAt } of items) {
      const job = done.get(id)
      if (job === undefined || (state !== 'ready' && state !== 'delayed')) continue
      if (topicsOf(job.name, rules).includes(topic) && producedAt === Math.floor(job.producedAt))
        this.#doneThere.push(id)
    }
  }

  /** The ids of those whose moment a schedule here brings. */
  async #ownOccurrences(
    jobs: readonly ForeignJob[],
    messages: readonly RestoredMessage[],
  ): Promise<ReadonlySet<string>> {
    const { store, rules, now } = this.#parts
    const idPrefix = rules.idPrefix ?? ''
    const made = new Map(jobs.map(({ id, occurrence }) => [idPrefix + id, occurrence]))
    const topicsById = this.#topicsById(jobs)
    const own = new Set<string>()
    for (const { id } of messages) {
      const [occurrence, topics = []] = [made.get(id), topicsById.get(id)]
      if (occurrence === undefined) continue
      if (await isOwnOccurrence(store, { occurrence, topics }, { now, idPrefix })) own.add(id)
    }
    return own
  }

  /** Only what is safe here is not to run there. */
  async #take(jobs: readonly ForeignJob[], safe: ReadonlySet<string>): Promise<void> {
    const { from, rules, isDryRun, isTaking } = this.#parts
    if (isDryRun || isTaking !== true) return
    await from.taken?.(jobs.filter(({ id }) => safe.has((rules.idPrefix ?? '') + id)))
  }

  #toMessages(job: ForeignJob): RestoredMessage[] {
    const { rules, now } = this.#parts
    const message = messageOf(job, rules, now)
    if ('why' in message) {
      this.#leftOut.add(message, job.name)
      return []
    }
    if (job.without !== undefined) this.#without.add({ why: job.without }, job.name)
    return [message]
  }

  /** Those that were placed. */
  async #restore(messages: readonly RestoredMessage[]): Promise<readonly RestoredMessage[]> {
    const { store, isDryRun } = this.#parts
    if (isDryRun || messages.length === 0) return messages
    const { batchMax, batchBytesMax } = store.capabilities
    const limits = { entriesMax: batchMax, bytesMax: batchBytesMax, sizeOf: sizeOfRestored }
    const placed: RestoredMessage[] = []
    for (const batch of cutBatches(messages, limits)) {
      const results = await store.restore(batch)
      placed.push(...batch.filter((_, index) => results[index] === 'restored'))
    }
    return placed
  }

  async #importSchedule(schedule: ForeignSchedule): Promise<void> {
    if (schedule.leftOut !== undefined) {
      this.#leftOut.add({ why: schedule.leftOut }, schedule.name)
      return
    }
    try {
      await this.#trySchedule(schedule)
    } catch (error) {
      if (isUnavailable(error) || !(error instanceof PunctualError || error instanceof SyntaxError))
        throw error
      this.#leftOut.add({ why: `it cannot be a schedule: ${error.message}` }, schedule.name)
    }
  }

  /** Throws a UsageError, or a SyntaxError of its data, where it cannot be a schedule here. */
  async #trySchedule(schedule: ForeignSchedule): Promise<void> {
    const { rules, isDryRun, setSchedule } = this.#parts
    const name = checkScheduleName((rules.idPrefix ?? '') + schedule.name)
    const zone = zoneOf(schedule, rules)
    if (schedule.times === 0) return this.#endSchedule(schedule)
    const spec = specOf(schedule, rules, 'why' in zone ? undefined : zone.zone)
    const plan = await this.#planOf(spec)
    const found = (await readSchedule(this.#parts.store, name))?.plan
    if (found !== undefined) {
      const isZoneKnown = rules.zone !== undefined || 'zone' in schedule.rhythm
      const isOurs = topicsOf(schedule.jobName, rules).includes(found.topic)
      const wanted = isOurs ? { ...plan, topic: found.topic } : plan
      if (isSameSchedule(wanted, found, { isZoneKnown })) this.#presentSchedules += 1
      else if (isSameSchedule(wanted, found, { isZoneKnown: false }))
        this.#leftOut.add(otherZone(name, found), name)
      else this.#scheduleConflicts.push(name)
    } else if ('why' in zone) {
      this.#leftOut.add(zone, schedule.name)
    } else {
      // Before the schedule: ended in between, the same call brings both.
      if (schedule.overdue !== undefined) await this.#place([schedule.overdue])
      if (!isDryRun) await setSchedule(name, spec)
      this.#schedules += 1
      for (const why of [schedule.without, zone.remark])
        if (why !== undefined) this.#without.add({ why }, schedule.name)
    }
  }

  async #endSchedule({ name, overdue }: ForeignSchedule): Promise<void> {
    if (overdue !== undefined) await this.#place([overdue])
    this.#leftOut.add({ why: 'it is over: it has made all its jobs' }, name)
  }

  /** As `schedules.set` would store it: a dry run finds the same faults. */
  async #planOf(spec: ScheduleSpec): Promise<SchedulePlan> {
    const { settings, now } = this.#parts
    const parsed = parseSpec(spec, { now, book: settings.windows })
    return { ...(await checkedMessage(settings, spec.topic, spec.payload)), ...parsed }
  }
}

/** It was imported with a zone that was only guessed. It may have fired, so that it is not ours to replace. */
function otherZone(name: string, { rhythm }: SchedulePlan): Refusal {
  return {
    why: `it is here in ${'cron' in rhythm ? rhythm.zone : 'UTC'}`,
    remedy: `\`punctual schedule remove ${name}\`, then import again`,
  }
}

/** How often what could not be done, by reason and name. */
class Reasons {
  readonly #counts = new Map<string, LeftOut>()

  add(refusal: Refusal, name: string, count = 1): void {
    const key = JSON.stringify([refusal.why, name])
    this.#counts.set(key, { ...refusal, name, count: count + (this.#counts.get(key)?.count ?? 0) })
  }

  list(): readonly LeftOut[] {
    return [...this.#counts.values()]
  }
}
