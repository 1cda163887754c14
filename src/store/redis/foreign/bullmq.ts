/**
 * A queue of BullMQ, versions 5 and 6, as it lies in Redis:
 *
 *   wait, paused     lists, worked off from the end; a paused queue of version 5 waits in `paused`
 *   prioritized      sorted set: priority x 2^32 + order
 *   delayed          sorted set: moment x 4096 + order
 *   failed           sorted set: the moment of the last failure
 *   ID               hash of one job: name, data, opts, timestamp, atm (attempts made), failedReason, parentKey, rjk (its schedule)
 *   repeat           sorted set of its schedules: the moment that is next; repeat:KEY a hash of one: see bullmq-repeat.ts
 *   active, waiting-children, completed        what is not carried over
 *
 * Jobs go from `delayed` to `wait` or `prioritized`, then to `active`, then to `failed` or `completed`: workers may run while we
 * read in this order. Only a retry goes back, and only of what was active; in a paused queue that is what was active at first.
 *
 * The next job of a schedule, repeat:KEY:MOMENT, lies in `delayed` as well: it is left out, because the schedule brings it,
 * unless its moment has passed. Workers move it to `wait` when its moment comes, also while the queue is paused. Other jobs of a
 * schedule wait for a retry. Each says which moment it is of: a schedule that was imported before brings that moment itself.
 */
import { type QueuesContext } from '../../engine.ts'
import {
  ACTIVE_THERE,
  type ForeignJob,
  type ForeignPolicy,
  type ForeignQueue,
  type ForeignRest,
  type ForeignSchedule,
} from '../../foreign.ts'
import {
  filled,
  isWhole,
  momentOf,
  nextJobId,
  occurrenceOf,
  REPEAT,
  repeatOf,
  scheduleNameOf,
  timesLeft,
} from './bullmq-repeat.ts'
import { ForeignKeys, isJson, readNumber, readObject } from './reading.ts'

const DELAYED_STEPS = 4096
const JOB = ['name', 'data', 'opts', 'timestamp', 'atm', 'failedReason', 'parentKey', 'rjk'] as const
const WAITING = ['wait', 'paused'] as const
/** A queue has one of them at least: `meta` since a Queue or Worker was made, the others where that was skipped. */
const SOME_KEY = [
  'meta',
  'id',
  ...WAITING,
  'prioritized',
  'delayed',
  'repeat',
  'active',
  'waiting-children',
  'failed',
  'completed',
] as const

type JobFields = Record<(typeof JOB)[number], string>

export async function openBullmq(
  url: string,
  where: { readonly queue: string; readonly prefix: string },
  context: QueuesContext,
): Promise<ForeignQueue> {
  return new BullmqQueue(new ForeignKeys(url, where, context), context.clock)
}

class BullmqQueue implements ForeignQueue {
  readonly #clock: QueuesContext['clock']
  readonly #keys: ForeignKeys
  /** The ids that were told. */
  readonly #seen = new Set<string>()
  /** Those that were active before anything else was read: they may come back to a place that was read by then. */
  readonly #active = new Set<string>()
  /** Read once, so that jobs and schedules agree about what is next. */
  #nexts: Promise<ReadonlyMap<string, number>> | undefined
  /** The next jobs whose ids do not follow from their schedule's key, by that key. */
  readonly #nextIds = new Map<string, string>()

  constructor(keys: ForeignKeys, clock: QueuesContext['clock']) {
    this.#keys = keys
    this.#clock = clock
  }

  async isPaused(): Promise<boolean> {
    const { paused } = await this.#keys.fields('meta', ['paused'])
    return paused === '1'
  }

  close(): void {
    this.#keys.close()
  }

  isThere(): Promise<boolean> {
    return this.#keys.hasAny(SOME_KEY)
  }

  neighbours(): Promise<readonly string[]> {
    return this.#keys.queuesWith('meta')
  }

  async *jobs(): AsyncGenerator<readonly ForeignJob[]> {
    await this.#noteActive()
    const nexts = new Set([...(await this.#readNexts())].map(([key, at]) => nextJobId(key, at)))
    for await (const page of this.#keys.sorted('delayed')) {
      const moments = new Map(page.map(([id, score]) => [id, { dueAt: Math.floor(score / DELAYED_STEPS) }]))
      const ids = page.map(([id]) => id).filter((id) => !nexts.has(id))
      yield await this.#read(await this.#withoutNewer(ids), moments)
    }
    for (const list of WAITING)
      for await (const ids of this.#keys.list(list)) yield await this.#read(await this.#withoutNewer(ids))
    for await (const page of this.#keys.sorted('prioritized'))
      yield await this.#read(await this.#withoutNewer(page.map(([id]) => id)))
    await this.#noteActive()
    for await (const page of this.#keys.sorted('failed')) {
      const moments = new Map(page.map(([id, score]) => [id, { diedAt: Math.floor(score) }]))
      yield await this.#read([...moments.keys()], moments)
    }
  }

  /** Without those that a schedule has made since `#nexts` was read: the schedule here brings all that is later. */
  async #withoutNewer(ids: readonly string[]): Promise<readonly string[]> {
    const nexts = await this.#readNexts()
    const isNewer = await Promise.all(
      ids.map(async (id) => {
        const made = occurrenceOf(id)
        if (made === undefined || made.at <= (nexts.get(made.key) ?? Infinity)) return false
        return made.at <= ((await this.#keys.score('repeat', made.key)) ?? 0)
      }),
    )
    return ids.filter((_, index) => isNewer[index] !== true)
  }

  async #noteActive(): Promise<void> {
    for await (const page of this.#keys.list('active')) for (const id of page) this.#active.add(id)
  }

  async schedules(): Promise<readonly ForeignSchedule[]> {
    const found: ForeignSchedule[] = []
    for (const [key, nextAt] of await this.#readNexts()) found.push(await this.#schedule(key, nextAt))
    return found
  }

  async rest(): Promise<readonly ForeignRest[]> {
    const named = [
      ...(await this.#countNames(await this.#stillActive(), ACTIVE_THERE)),
      ...(await this.#countNames(await this.#members('waiting-children'), {
        why: 'it waits for the children of its flow',
      })),
    ]
    const counted = await Promise.all(
      [
        ['completed', 'it is done'],
        ['groups', 'it is in a group'],
      ].map(async ([name = '', why = '']) => ({ why, name, count: await this.#keys.size(name) })),
    )
    return [...named, ...counted.filter(({ count }) => count > 0)]
  }

  #readNexts(): Promise<ReadonlyMap<string, number>> {
    this.#nexts ??= (async () => {
      const nexts = new Map<string, number>()
      for await (const page of this.#keys.sorted('repeat')) for (const [key, at] of page) nexts.set(key, at)
      return nexts
    })()
    return this.#nexts
  }

  /** Those that left meanwhile are passed over, and those that were told. */
  async #read(found: readonly string[], moments?: ReadonlyMap<string, JobMoments>): Promise<ForeignJob[]> {
    const nexts = await this.#readNexts()
    const ids = found.filter((id) => !this.#seen.has(id))
    const rows = await Promise.all(ids.map((id) => this.#keys.fields(id, JOB)))
    return ids.flatMap((id, index) => {
      const fields = rows[index]
      const job = moments?.get(id)
      if (fields !== undefined && this.#isOldNext(id, fields, nexts) && job !== undefined && 'dueAt' in job)
        return []
      this.#seen.add(id)
      return fields === undefined || isGone(fields) ? [] : [withOccurrence(jobOf(id, fields, job), fields)]
    })
  }

  /** Before BullMQ 5.10 only the job itself tells that it is the next of a schedule. */
  #isOldNext(id: string, { rjk, opts }: JobFields, nexts: ReadonlyMap<string, number>): boolean {
    const made = occurrenceOf(id, rjk)
    if (made === undefined || id === nextJobId(made.key, made.at) || nexts.get(made.key) !== made.at)
      return false
    const { pattern, every } = repeatOf(opts)
    if (pattern === undefined && every === undefined) return false
    this.#nextIds.set(made.key, id)
    return true
  }

  async #schedule(key: string, nextAt: number): Promise<ForeignSchedule> {
    const nextId = this.#nextIds.get(key) ?? nextJobId(key, nextAt)
    const next = await this.#keys.fields(nextId, JOB)
    // A worker may have run it since its moment was read, and removed it: the one after it says the same.
    const telling = isGone(next) ? await this.#newest(key, nextAt) : next
    const repeat = repeatOf(telling.opts)
    const fields = filled(await this.#keys.fields(`repeat:${key}`, REPEAT), repeat)
    const jobName = fields.name || telling.name
    const everyMs = readNumber(fields.every)
    const startAt = momentOf(fields.startDate)
    const endAt = momentOf(fields.endDate)
    const nextMadeAt = readNumber(next.timestamp)
    const { policy, without } = policyOf(readObject(fields.opts || telling.opts) ?? {})
    const isDelayed = (await this.#keys.score('delayed', nextId)) !== undefined
    const isOverdue = nextAt <= this.#clock.now()
    // One that a worker moved, or somebody promoted, waits in a list, and is among the jobs.
    const isNextApart = isOverdue || (!isGone(next) && !isDelayed)
    const times = timesLeft(fields, repeat, { isNextApart, behind: telling === next ? 0 : 1 })
    const overdue =
      isOverdue && isDelayed && !isGone(next)
        ? withOccurrence(jobOf(nextId, next, { dueAt: nextAt }), next)
        : undefined
    const isLimitKnown = times !== undefined || !isGone(telling)
    const missing = [
      without,
      isLimitKnown ? undefined : 'its limit, if it had one: its next job is not there',
    ]
    // Its workers make the next job from the one before, and nothing else does.
    const isOver = isGone(telling) && times !== 0 && (isOverdue || !isWhole(key, fields))
    const leftOut =
      everyMs === undefined && fields.pattern === ''
        ? 'its pattern is not stored with it'
        : isOver
          ? 'its next job is not there: it has ended, or the job was removed, and it does not run there either'
          : undefined
    return {
      name: scheduleNameOf(key, jobName, repeat),
      jobName,
      data: fields.data || telling.data || '{}',
      rhythm:
        everyMs === undefined
          ? { cron: fields.pattern, ...(fields.tz === '' ? {} : { zone: fields.tz }) }
          : { everyMs },
      nextAt,
      ...(nextMadeAt === undefined ? {} : { nextMadeAt }),
      firstAt: isNextApart ? nextAt + (everyMs ?? 1) : nextAt,
      ...(overdue === undefined ? {} : { overdue }),
      ...(startAt === undefined ? {} : { startAt }),
      ...(endAt === undefined ? {} : { endAt }),
      ...(times === undefined ? {} : { times }),
      policy,
      ...(leftOut === undefined ? {} : { leftOut }),
      ...joined(missing),
    }
  }

  async #newest(key: string, nextAt: number): Promise<JobFields> {
    const at = (await this.#keys.score('repeat', key)) ?? nextAt
    return this.#keys.fields(nextJobId(key, at), JOB)
  }

  /** Neither told nor done. */
  async #stillActive(): Promise<readonly string[]> {
    const ids = [...this.#active].filter((id) => !this.#seen.has(id))
    const doneAt = await Promise.all(ids.map((id) => this.#keys.score('completed', id)))
    return ids.filter((_, index) => doneAt[index] === undefined)
  }

  async #members(name: string): Promise<readonly string[]> {
    const found: string[] = []
    for await (const page of this.#keys.sorted(name)) found.push(...page.map(([id]) => id))
    return found
  }

  async #countNames(
    ids: readonly string[],
    refusal: Pick<ForeignRest, 'why' | 'remedy'>,
  ): Promise<ForeignRest[]> {
    const names = new Map<string, number>()
    for (const id of ids) {
      const { name } = await this.#keys.fields(id, ['name'])
      if (name !== '') names.set(name, (names.get(name) ?? 0) + 1)
    }
    return [...names].map(([name, count]) => ({ ...refusal, name, count }))
  }
}

type JobMoments = { readonly dueAt: number } | { readonly diedAt: number }

/** One that failed for good ran there. */
function withOccurrence(job: ForeignJob, { rjk, opts }: JobFields): ForeignJob {
  const made = occurrenceOf(job.id, rjk)
  if (made === undefined || job.diedAt !== undefined) return job
  const schedule = scheduleNameOf(made.key, job.name, repeatOf(opts))
  return { ...job, occurrence: { schedule, at: made.at } }
}

/** A name may be empty; a job without the moment of its making is none. */
function isGone({ name, timestamp }: JobFields): boolean {
  return name === '' && timestamp === ''
}

function jobOf(id: string, fields: JobFields, moments: JobMoments | undefined): ForeignJob {
  const { name, data, timestamp, atm, failedReason, parentKey } = fields
  const options = readObject(fields.opts) ?? {}
  const { policy, without } = policyOf(options)
  const leftOut =
    parentKey !== '' ? 'it is a child of a flow' : isJson(data) ? undefined : 'its data is not JSON'
  const isDeduplicated = 'de' in options
  return {
    id,
    name,
    data,
    producedAt: readNumber(timestamp) ?? 0,
    ...moments,
    failures: readNumber(atm) ?? 0,
    error: failedReason,
    policy,
    ...(leftOut === undefined ? {} : { leftOut }),
    ...joined([without, isDeduplicated ? 'its deduplication id' : undefined]),
  }
}

function joined(missing: readonly (string | undefined)[]): { readonly without?: string } {
  const told = missing.filter((what) => what !== undefined)
  return told.length === 0 ? {} : { without: told.join(', ') }
}

/** A function of the worker computes a wait of any other kind, and is not stored: the handler here decides instead. */
function policyOf(options: Readonly<Record<string, unknown>>): {
  readonly policy: ForeignPolicy
  readonly without?: string
} {
  const { attempts, backoff } = options
  const { type, delay, jitter } =
    typeof backoff === 'object' && backoff !== null ? (backoff as Readonly<Record<string, unknown>>) : {}
  const ms = readNumber(typeof backoff === 'number' ? backoff : delay)
  const kind = type === 'exponential' ? 'exponential' : 'fixed'
  const priority = readNumber(options.priority) ?? 0
  if (typeof type === 'string' && type !== 'fixed' && type !== 'exponential')
    return {
      policy: { priority },
      without: `its attempts and its own backoff "${type}": the "retry" of its handler holds, from the first attempt`,
    }
  const retries = Math.max(0, (readNumber(attempts) ?? 1) - 1)
  const waits = ms === undefined ? {} : { backoff: { kind, ms, jitter: readNumber(jitter) ?? 0 } as const }
  return { policy: { retries, priority, ...waits } }
}
