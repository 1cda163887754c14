/** Many real processes on one queue, and what they say. */
import { describe, expect, it } from 'vitest'
import { Punctual } from '../../src/index.ts'
import { until } from '../store/redis/until.ts'
import { Child } from './child.ts'
import { SHARED_ENGINES, type SharedEngine } from './engines.ts'

export const QUEUE = 'many'

export function startsOf(workers: readonly Child[]): string[] {
  return workers.flatMap(({ lines }) =>
    lines.filter((line) => 'start' in line).map((line) => String(line['start'])),
  )
}

export function said(child: Child, key: string): string[] {
  return child.lines.filter((line) => key in line).flatMap((line) => line[key] as string[])
}

/** A handle of our own on the queue, to look at it from outside. */
export async function look<T>(store: string, work: (queue: Punctual) => Promise<T>): Promise<T> {
  const queue = new Punctual({ store, queue: QUEUE, logger: false })
  try {
    return await work(queue)
  } finally {
    await queue.stop()
  }
}

export async function whenEmpty(store: string): Promise<void> {
  await look(store, (queue) =>
    until('the queue is empty', async () =>
      Object.values((await queue.stats()).counts).every((count) => count === 0),
    ),
  )
}

type Crowd = { readonly workers: number; readonly perProducer: number }

/** So many on each engine. */
export function describeCrowds(sizeOn: (name: SharedEngine['name']) => Crowd): void {
  describe.each(SHARED_ENGINES)('a crowd on $name', ({ name, open }) => {
    const size = sizeOn(name)

    it(`P1, P3: ${size.workers} workers and 3 producers: each of ${3 * size.perProducer} messages exactly once, none early`, async () => {
      const store = await open()
      const workers = Array.from(
        { length: size.workers },
        () => new Child('work.mjs', { store, queue: QUEUE }),
      )
      await Promise.all(workers.map((worker) => worker.said('ready')))
      const more = { count: size.perProducer, batch: 100, spreadMs: 3_000 }
      const producers = ['a', 'b', 'c'].map(
        (prefix) => new Child('produce.mjs', { store, queue: QUEUE, prefix, ...more }),
      )
      await Promise.all(producers.map((producer) => producer.said('done')))
      const accepted = producers.flatMap((producer) => said(producer, 'accepted'))
      expect(accepted).toHaveLength(3 * size.perProducer)
      await until('every message was started', () => startsOf(workers).length >= accepted.length)
      await whenEmpty(store)
      expect(startsOf(workers).toSorted()).toEqual(accepted.toSorted())
      const early = workers.flatMap(({ lines }) => lines.filter(({ earlyMs }) => Number(earlyMs ?? 0) > 0))
      expect(early).toEqual([])
      for (const worker of workers) worker.signal('SIGTERM')
      for (const worker of workers) {
        expect((await worker.said('report'))['report']).toMatchObject({ abandoned: 0, errors: [] })
      }
    }, 180_000)
  })
}
