/**
 * A queue of bee-queue, version 2, as it lies in Redis:
 *
 *   jobs       hash: id -> JSON of data, options (timestamp, retries that are left, backoff, timeout, stacktraces), status
 *   waiting    list, worked off from the end
 *   delayed    sorted set: its moment
 *   active, stalling, failed, succeeded        what is not carried over
 */
import {
  ACTIVE_THERE,
  type ForeignJob,
  type ForeignQueue,
  type ForeignRest,
  type ForeignSchedule,
  type QueuesContext,
} from '../../engine.ts'
import { ForeignKeys, readNumber, readObject } from './reading.ts'

export async function openBee(
  url: string,
  { queue, prefix }: { readonly queue: string; readonly prefix: string },
  context: QueuesContext,
): Promise<ForeignQueue> {
  return new BeeQueue(new ForeignKeys(url, { prefix, queue }, context), queue)
}

class BeeQueue implements ForeignQueue {
  readonly isPaused = undefined
  readonly #keys: ForeignKeys
  readonly #name: string

  constructor(keys: ForeignKeys, name: string) {
    this.#keys = keys
    this.#name = name
  }

  close(): void {
    this.#keys.close()
  }

  isThere(): Promise<boolean> {
    return this.#keys.hasAny(['id', 'jobs', 'waiting', 'delayed', 'active', 'failed', 'succeeded'])
  }

  neighbours(): Promise<readonly string[]> {
    return this.#keys.queuesWith('id')
  }

  async *jobs(): AsyncGenerator<readonly ForeignJob[]> {
    for await (const ids of this.#keys.list('waiting')) yield await this.#read(ids)
    for await (const page of this.#keys.sorted('delayed')) {
      const ids = page.map(([id]) => id)
      yield await this.#read(ids, new Map(page))
    }
  }

  async schedules(): Promise<readonly ForeignSchedule[]> {
    return []
  }

  async rest(): Promise<readonly ForeignRest[]> {
    const states = [
      { name: 'active', ...ACTIVE_THERE },
      { name: 'failed', why: 'it failed for good' },
      { name: 'succeeded', why: 'it is done' },
    ]
    const counted = await Promise.all(
      states.map(async (state) => ({ ...state, count: await this.#keys.size(state.name) })),
    )
    return counted.filter(({ count }) => count > 0)
  }

  async #read(ids: readonly string[], moments?: ReadonlyMap<string, number>): Promise<ForeignJob[]> {
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

/** A growing wait is stored as the next one; here it is the first, from which the next follows. */
function backoffOf(value: unknown, failures: number): Pick<ForeignJob['policy'], 'backoff'> {
  if (typeof value !== 'object' || value === null) return {}
  const { strategy, delay } = value as Readonly<Record<string, unknown>>
  const ms = readNumber(delay) ?? 0
  if (strategy === 'exponential')
    return { backoff: { kind: 'exponential', ms: ms / 2 ** failures, jitter: 0 } }
  return { backoff: { kind: 'fixed', ms: strategy === 'fixed' ? ms : 0, jitter: 0 } }
}
