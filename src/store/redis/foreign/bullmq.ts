/**
 * A queue of BullMQ, versions 5 and 6, as it lies in Redis:
 *
 *   wait, paused     lists, worked off from the end; a paused queue of version 5 waits in `paused`
 *   prioritized      sorted set: priority x 2^32 + order
 *   delayed          sorted set: moment x 4096 + order
 *   ID               hash of one job: name, data, opts, timestamp, atm (attempts made), failedReason, parentKey, rjk
 *   repeat           sorted set of its schedules: the moment that is next; repeat:KEY a hash of one
 *   active, waiting-children, failed, completed        what is not carried over
 *
 * The next job of a schedule lies in `delayed` as well: it is left out, because the schedule brings it.
 */
import type {
  ForeignJob,
  ForeignPolicy,
  ForeignQueue,
  ForeignRest,
  ForeignSchedule,
  QueuesContext,
} from '../../engine.ts'
import { ForeignKeys, isJson, readNumber, readObject } from './reading.ts'

const DELAYED_STEPS = 4096
const JOB = ['name', 'data', 'opts', 'timestamp', 'atm', 'failedReason', 'parentKey', 'rjk'] as const
const SCHEDULE = [
  'name',
  'pattern',
  'every',
  'tz',
  'limit',
  'ic',
  'startDate',
  'endDate',
  'data',
  'opts',
] as const
const WAITING = ['wait', 'paused'] as const
const OCCURRENCE = /^repeat:(.+):\d+$/

type JobFields = Record<(typeof JOB)[number], string>

export async function openBullmq(
  url: string,
  { queue, prefix }: { readonly queue: string; readonly prefix: string },
  context: QueuesContext,
): Promise<ForeignQueue> {
  const keys = new ForeignKeys(url, `${prefix}:${queue}:`, context)
  const { paused } = await keys.fields('meta', ['paused'])
  return new BullmqQueue(keys, paused === '1')
}

class BullmqQueue implements ForeignQueue {
  readonly isPaused: boolean
  readonly #keys: ForeignKeys

  constructor(keys: ForeignKeys, isPaused: boolean) {
    this.#keys = keys
    this.isPaused = isPaused
  }

  close(): void {
    this.#keys.close()
  }

  async *jobs(): AsyncGenerator<readonly ForeignJob[]> {
    for (const list of WAITING) for await (const ids of this.#keys.list(list)) yield await this.#read(ids)
    for await (const page of this.#keys.sorted('prioritized')) yield await this.#read(page.map(([id]) => id))
    for await (const page of this.#keys.sorted('delayed')) {
      const own = page.filter(([id]) => !OCCURRENCE.test(id))
      const moments = new Map(own.map(([id, score]) => [id, Math.floor(score / DELAYED_STEPS)]))
      yield await this.#read(
        own.map(([id]) => id),
        moments,
      )
    }
  }

  async schedules(): Promise<readonly ForeignSchedule[]> {
    const found: ForeignSchedule[] = []
    for await (const page of this.#keys.sorted('repeat'))
      found.push(...(await Promise.all(page.map(([key, nextAt]) => this.#schedule(key, nextAt)))))
    return found
  }

  async rest(): Promise<readonly ForeignRest[]> {
    const named = [
      ...(await this.#countNames('active', 'it runs now')),
      ...(await this.#countNames('waiting-children', 'it waits for the children of its flow')),
    ]
    const counted = await Promise.all(
      [
        ['failed', 'it failed for good'],
        ['completed', 'it is done'],
        ['groups', 'it is in a group'],
      ].map(async ([name = '', why = '']) => ({ why, name, count: await this.#keys.size(name) })),
    )
    return [...named, ...counted.filter(({ count }) => count > 0)]
  }

  /** Those that left meanwhile are passed over. */
  async #read(ids: readonly string[], moments?: ReadonlyMap<string, number>): Promise<ForeignJob[]> {
    const rows = await Promise.all(ids.map((id) => this.#keys.fields(id, JOB)))
    return ids.flatMap((id, index) => {
      const fields = rows[index]
      return fields === undefined || fields.name === '' ? [] : [jobOf(id, fields, moments?.get(id))]
    })
  }

  async #schedule(key: string, nextAt: number): Promise<ForeignSchedule> {
    const fields = await this.#keys.fields(`repeat:${key}`, SCHEDULE)
    // The older kind keeps data and options with its next job alone.
    const next = await this.#keys.fields(`repeat:${key}:${nextAt}`, JOB)
    const isScheduler = fields.data !== '' || fields.opts !== '' || fields.ic !== ''
    const everyMs = readNumber(fields.every)
    const [limit, made] = [readNumber(fields.limit), readNumber(fields.ic) ?? 0]
    const startAt = moment(fields.startDate)
    const endAt = moment(fields.endDate)
    const isKnown = everyMs !== undefined || fields.pattern !== ''
    return {
      name: isScheduler ? key : `${fields.name || next.name}:${key.slice(0, 8)}`,
      jobName: fields.name || next.name,
      data: fields.data || next.data || '{}',
      rhythm:
        everyMs === undefined
          ? { cron: fields.pattern, ...(fields.tz === '' ? {} : { zone: fields.tz }) }
          : { everyMs },
      nextAt,
      ...(startAt === undefined ? {} : { startAt }),
      ...(endAt === undefined ? {} : { endAt }),
      // Its next job is counted already, and comes from the schedule here.
      ...(limit === undefined ? {} : { times: Math.max(1, limit - Math.max(0, made - 1)) }),
      policy: policyOf(readObject(fields.opts || next.opts) ?? {}).policy,
      ...(isKnown ? {} : { leftOut: 'its pattern is not stored with it: it is of BullMQ 4 or older' }),
    }
  }

  async #countNames(state: string, why: string): Promise<ForeignRest[]> {
    const names = new Map<string, number>()
    const pages = state === 'active' ? this.#keys.list(state) : this.#keys.sorted(state)
    for await (const page of pages) {
      for (const member of page) {
        const { name } = await this.#keys.fields(typeof member === 'string' ? member : member[0], ['name'])
        if (name !== '') names.set(name, (names.get(name) ?? 0) + 1)
      }
    }
    return [...names].map(([name, count]) => ({ why, name, count }))
  }
}

function jobOf(id: string, fields: JobFields, dueAt: number | undefined): ForeignJob {
  const { name, data, timestamp, atm, failedReason, parentKey } = fields
  const options = readObject(fields.opts) ?? {}
  const { policy, without } = policyOf(options)
  const leftOut =
    parentKey !== '' ? 'it is a child of a flow' : isJson(data) ? undefined : 'its data is not JSON'
  const isDeduplicated = 'de' in options
  const missing = [without, isDeduplicated ? 'its deduplication id' : undefined].filter(
    (what) => what !== undefined,
  )
  return {
    id,
    name,
    data,
    producedAt: readNumber(timestamp) ?? 0,
    ...(dueAt === undefined ? {} : { dueAt }),
    failures: readNumber(atm) ?? 0,
    error: failedReason,
    policy,
    ...(leftOut === undefined ? {} : { leftOut }),
    ...(missing.length === 0 ? {} : { without: missing.join(', ') }),
  }
}

function policyOf(options: Readonly<Record<string, unknown>>): {
  readonly policy: ForeignPolicy
  readonly without?: string
} {
  const { attempts, backoff, priority } = options
  const { type, delay, jitter } =
    typeof backoff === 'object' && backoff !== null ? (backoff as Readonly<Record<string, unknown>>) : {}
  const ms = readNumber(typeof backoff === 'number' ? backoff : delay)
  const kind = type === 'exponential' ? 'exponential' : 'fixed'
  const isForeign = typeof type === 'string' && type !== 'fixed' && type !== 'exponential'
  const policy = {
    retries: Math.max(0, (readNumber(attempts) ?? 1) - 1),
    priority: readNumber(priority) ?? 0,
    ...(ms === undefined ? {} : { backoff: { kind, ms, jitter: readNumber(jitter) ?? 0 } as const }),
  }
  return isForeign ? { policy, without: `its own backoff "${type}"` } : { policy }
}

/** Milliseconds, or a date as text. */
function moment(text: string): number | undefined {
  if (text === '') return undefined
  const at = readNumber(text) ?? Date.parse(text)
  return Number.isFinite(at) ? at : undefined
}
