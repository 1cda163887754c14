/**
 * Bulk jobs of one queue: begun by a confirmed call, worked off some hundred messages at a time, watched and stopped by
 * every caller who may. They live in this process; ended half-way, what is done stays done, and the same call goes on.
 *
 *   running ──► done      all that fit were changed
 *           ──► capped    more fit than 1.1 x what was confirmed: somebody should look before it goes on
 *           ──► stopped   by a person, or because the server stops
 *           ──► failed    the store refused; what is done stays done
 */
import { sleep } from '../../../clock.ts'
import { assertNever } from '../../../core/errors.ts'
import type { Filter, FilterProgress } from '../../../index.ts'
import type { Caller } from '../access/caller.ts'
import type { ServerParts } from '../parts.ts'
import { HttpRefusal, problemOf } from '../wire/problem.ts'
import type { Served } from '../served.ts'
import { filterOf, momentOf, perSecond, type AskedBulk, type BulkFilter } from './asked.ts'
import { idsOfGroup } from './dead-groups.ts'
import type { MatchCount } from './preview.ts'

export type BulkJob = {
  readonly id: string
  readonly action: AskedBulk['action']
  readonly filter: BulkFilter
  readonly who: string
  readonly state: 'running' | 'done' | 'capped' | 'stopped' | 'failed'
  readonly confirmed: number
  readonly isAtLeast: boolean
  readonly done: number
  readonly looked: number
  /** Left alone because they ran. */
  readonly running?: number
  readonly startedAt: number
  readonly endedAt?: number
  readonly error?: string
}

type WorkingJob = {
  job: BulkJob
  readonly asked: AskedBulk
  readonly stopping: AbortController
  ended: Promise<void>
  toldAt: number
}

type BulkCounts = { readonly done: number; readonly running?: number }

const RUNNING_MAX = 10
const KEPT = 100
const TELL_MS = 1_000
const SECOND_MS = 1_000

export class BulkJobs {
  readonly #served: Served
  readonly #jobs = new Map<string, WorkingJob>()
  #count = 0

  constructor(served: Served) {
    this.#served = served
  }

  /** Newest first. */
  get all(): readonly BulkJob[] {
    return [...this.#jobs.values()].map(({ job }) => job).toReversed()
  }

  get(id: string): BulkJob {
    return this.#find(id).job
  }

  /** It ends after the step that is under way. */
  stop(id: string): BulkJob {
    const found = this.#find(id)
    found.stopping.abort()
    return found.job
  }

  async stopAll(): Promise<void> {
    for (const { stopping } of this.#jobs.values()) stopping.abort()
    await Promise.all([...this.#jobs.values()].map(({ ended }) => ended))
  }

  begin(server: ServerParts, who: Caller, asked: AskedBulk, confirmed: MatchCount): BulkJob {
    if (this.all.filter(({ state }) => state === 'running').length >= RUNNING_MAX)
      throw new HttpRefusal('JOBS_TOO_MANY', `${RUNNING_MAX} bulk jobs run already; wait for one to end.`)
    this.#count += 1
    const now = Math.floor(server.clock.now())
    const id = `${now.toString(36)}-${this.#count}`
    const job: BulkJob = {
      id,
      action: asked.action,
      filter: asked.filter,
      who: who.name,
      state: 'running',
      confirmed: confirmed.matches,
      isAtLeast: confirmed.isAtLeast,
      done: 0,
      looked: 0,
      startedAt: now,
    }
    const stopping = new AbortController()
    const working: WorkingJob = { job, asked, stopping, ended: Promise.resolve(), toldAt: -Infinity }
    this.#jobs.set(id, working)
    this.#forgetOld()
    working.ended = this.#work(server, who, working)
    return job
  }

  #find(id: string): WorkingJob {
    const found = this.#jobs.get(id)
    if (found === undefined) throw new HttpRefusal('JOB_MISSING', 'there is no such job on this server.')
    return found
  }

  #forgetOld(): void {
    for (const [id, { job }] of this.#jobs) {
      if (this.#jobs.size <= KEPT) return
      if (job.state !== 'running') this.#jobs.delete(id)
    }
  }

  /** Never rejects. */
  async #work(server: ServerParts, who: Caller, working: WorkingJob): Promise<void> {
    const { asked, stopping } = working
    const cap = capOf(working.job)
    try {
      const counts = cap === 0 ? { done: 0 } : await this.#change(server, working, cap)
      const state = stopping.signal.aborted
        ? 'stopped'
        : counts.done >= cap && counts.done > working.job.confirmed
          ? 'capped'
          : 'done'
      working.job = { ...working.job, ...counts, state }
    } catch (error) {
      working.job = { ...working.job, state: 'failed', error: problemOf(error).detail }
    }
    working.job = { ...working.job, endedAt: Math.floor(server.clock.now()) }
    server.audit.tell(who, {
      action: `bulk ${asked.action}`,
      queue: this.#served.name,
      topic: asked.filter.topic,
      about: JSON.stringify(asked.filter),
      result: working.job.state,
      count: working.job.done,
    })
    this.#served.note('bulk', working.job, working.asked.filter.topic)
  }

  async #change(server: ServerParts, working: WorkingJob, cap: number): Promise<BulkCounts> {
    const { asked, stopping } = working
    if (asked.filter.group !== undefined) return this.#changeGroup(server, working, cap)
    if (asked.rate !== undefined) return this.#reviveSlowly(server, working, cap)
    const options = {
      signal: stopping.signal,
      onProgress: ({ done, looked }: FilterProgress) => this.#progress(server, working, done, looked),
    }
    const filter = withLimit(filterOf(asked.filter), cap)
    return this.#apply(asked, filter, options)
  }

  async #apply(
    asked: AskedBulk,
    filter: Filter,
    options: { readonly signal: AbortSignal; readonly onProgress?: (progress: FilterProgress) => void },
  ): Promise<BulkCounts> {
    const { queue } = this.#served
    switch (asked.action) {
      case 'cancel': {
        const { cancelled, running } = await queue.cancel(filter, options)
        return { done: cancelled, running }
      }
      case 'reschedule': {
        const { rescheduled, running } = await queue.reschedule(filter, momentOf(asked), options)
        return { done: rescheduled, running }
      }
      case 'revive':
        return { done: await queue.revive(filter, options) }
      case 'purge':
        return { done: await queue.purge(filter, options) }
      default:
        return assertNever(asked.action)
    }
  }

  /** So many a second, so that what is revived does not come all at once. */
  async #reviveSlowly(server: ServerParts, working: WorkingJob, cap: number): Promise<BulkCounts> {
    const { asked, stopping } = working
    const { ids } = asked.filter
    const each = perSecond(asked.rate ?? '')
    const most = ids === undefined ? cap : ids.length
    let done = 0
    for (let from = 0; from < most && !stopping.signal.aborted; from += each) {
      const filter =
        ids === undefined
          ? withLimit(filterOf(asked.filter), Math.min(each, cap - done))
          : { ids: ids.slice(from, from + each) }
      const revived = await this.#served.queue.revive(filter, { signal: stopping.signal })
      done += revived
      this.#progress(server, working, done, done)
      if (ids === undefined && revived === 0) break
      await sleep(server.clock, SECOND_MS, stopping.signal)
    }
    return { done }
  }

  async #changeGroup(server: ServerParts, working: WorkingJob, cap: number): Promise<BulkCounts> {
    const { asked, stopping } = working
    const { topic, group = '' } = asked.filter
    const each = asked.rate === undefined ? Infinity : perSecond(asked.rate)
    const about = { ...(topic === undefined ? {} : { topic }), key: group, now: server.clock.now() }
    let [done, looked] = [0, 0]
    for await (const page of idsOfGroup(await this.#served.open(), about)) {
      looked += page.looked
      for (let from = 0; from < page.ids.length; from += each) {
        if (stopping.signal.aborted || done >= cap) return { done }
        const ids = page.ids.slice(from, Math.min(from + each, from + cap - done))
        done += (await this.#apply(asked, { ids }, { signal: stopping.signal })).done
        this.#progress(server, working, done, looked)
        if (each < Infinity) await sleep(server.clock, SECOND_MS, stopping.signal)
      }
    }
    return { done }
  }

  #progress({ clock }: ServerParts, working: WorkingJob, done: number, looked: number): void {
    working.job = { ...working.job, done, looked }
    const now = clock.monotonic()
    if (now - working.toldAt < TELL_MS) return
    working.toldAt = now
    this.#served.note('bulk', working.job, working.asked.filter.topic)
  }
}

function withLimit(filter: Filter, cap: number): Filter {
  if ('ids' in filter && filter.ids !== undefined) return filter
  const { limit = Infinity, ...rest } = filter as Exclude<Filter, { ids: readonly string[] }>
  const most = Math.min(limit, cap)
  return most === Infinity ? rest : { ...rest, limit: most }
}

/** What could not be counted was not confirmed as a number: then there is no cap. */
function capOf({ confirmed, isAtLeast, filter }: BulkJob): number {
  return isAtLeast || filter.ids !== undefined ? Infinity : Math.ceil((confirmed * 11) / 10)
}
