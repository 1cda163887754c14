/**
 * A queue of bee-queue, version 2, as it lies in Redis:
 *
 *   jobs       hash: id -> JSON of data, options (timestamp, retries that are left, backoff, timeout, stacktraces), status
 *   waiting    list, worked off from the end
 *   delayed    sorted set: its moment
 *   active, stalling, failed, succeeded        what is not carried over
 */
import { type QueuesContext } from '../../engine.ts'
import {
  ACTIVE_THERE,
  type ForeignJob,
  type ForeignQueue,
  type ForeignRest,
  type ForeignSchedule,
} from '../../foreign.ts'
import { ForeignKeys, readNumber, readObject } from './reading.ts'

export async function openBee(
  url: string,
  { queue, prefix }: { readonly queue: string; readonly prefix: string },
  context: QueuesContext,
): Promise<ForeignQueue> {
  return new BeeQueue(new ForeignKeys(url, { prefix, queue }, context), queue)
}

class BeeQueue implements ForeignQueue {
  readonly #keys: ForeignKeys
  readonly #name: string
  readonly #seen = new Set<string>()
  /** Those that were active before anything else was read: they may come back to a place that was read by then. */
  readonly #active = new Set<string>()

  constructor(keys: ForeignKeys, name: string) {
    this.#keys = keys
    this.#name = name
  }

  close(): void {
    this.#keys.close()
  }

  isPaused(): Promise<undefined> {
    return Promise.resolve(undefined)
  }

  isThere(): Promise<boolean> {
    return this.#keys.hasAny(['id', 'jobs', 'waiting', 'delayed', 'active', 'failed', 'succeeded'])
  }

  neighbours(): Promise<readonly string[]> {
    return this.#keys.queuesWith('id')
  }

  /** In the order in which workers move them: delayed, waiting, active. */
  async *jobs(): AsyncGenerator<readonly ForeignJob[]> {
    await this.#noteActive()
    for await (const page of this.#keys.sorted('delayed')) {
      const ids = page.map(([id]) => id)
      yield await this.#read(ids, new Map(page))
    }
    for await (const ids of this.#keys.list('waiting')) yield await this.#read(ids)
    await this.#noteActive()
  }

  async #noteActive(): Promise<void> {
    for await (const page of this.#keys.list('active')) for (const id of page) this.#active.add(id)
  }

  async schedules(): Promise<readonly ForeignSchedule[]> {
    return []
  }

  async rest(): Promise<readonly ForeignRest[]> {
    const ids = [...this.#active].filter((id) => !this.#seen.has(id))
    const jobs = await this.#keys.values('jobs', ids)
    const active = jobs.filter((text) => text !== null && !isOver(text)).length
    const states = [
      { name: 'failed', why: 'it failed for good' },
      { name: 'succeeded', why: 'it is done' },
    ]
    const counted = await Promise.all(
      states.map(async (state) => ({ ...state, count: await this.#keys.size(state.name) })),
    )
    return [{ name: 'active', ...ACTIVE_THERE, count: active }, ...counted].filter(({ count }) => count > 0)
  }

  /** Those that left meanwhile are passed over, and those that were told. */
  async #read(found: readonly string[], moments?: ReadonlyMap<string, number>): Promise<ForeignJob[]> {
    const ids = found.filter((id) => !this.#seen.has(id))
    for (const id of ids) this.#seen.add(id)
    const texts = await this.#keys.values('jobs', ids)
    return ids.flatMap((id, index) => {
      const text = texts[index]
      return text === undefined || text === null ? [] : [this.#job(id, text, moments?.get(id))]
    })
  }

  #job(id: string, text: string, dueAt: number | undefined): ForeignJob {
    const job = readObject(text)
    const options = (job?.options ?? {}) as Readonly<Record<string, unknown>>
    const { stacktraces, retries, timeout, timestamp } = options
    const failures = Array.isArray(stacktraces) ? stacktraces.length : 0
    const error = Array.isArray(stacktraces) ? String(stacktraces[0] ?? '').split('\n', 1)[0] : ''
    const timeoutMs = readNumber(timeout)
    return {
      id,
      name: this.#name,
      data: JSON.stringify(job?.data ?? null),
      producedAt: readNumber(timestamp) ?? 0,
      ...(dueAt === undefined ? {} : { dueAt }),
      failures,
      error: error ?? '',
      policy: {
        priority: 0,
        retries: failures + (readNumber(retries) ?? 0),
        ...backoffOf(options.backoff, failures),
        ...(timeoutMs === undefined || timeoutMs <= 0 ? {} : { timeoutMs }),
      },
      ...(job === undefined ? { leftOut: 'what is stored of it is not JSON' } : {}),
    }
  }
}

function isOver(text: string): boolean {
  const status = readObject(text)?.['status']
  return status === 'succeeded' || status === 'failed'
}

/** A growing wait is stored as the next one; here it is the first, from which the next follows. */
function backoffOf(value: unknown, failures: number): Pick<ForeignJob['policy'], 'backoff'> {
  if (typeof value !== 'object' || value === null) return {}
  const { strategy, delay } = value as Readonly<Record<string, unknown>>
  const ms = readNumber(delay) ?? 0
  if (strategy === 'exponential')
    return { backoff: { kind: 'exponential', ms: ms / 2 ** failures, jitter: 0 } }
  return { backoff: { kind: 'fixed', ms: strategy === 'fixed' ? ms : 0, jitter: 0 } }
}
