/** A queue on a journey over all engines: each of them is source and target of each other once. */
import { mkdtemp, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { decodeSchedule, scheduleId } from '../../../src/core/recurrence/spec.ts'
import { Punctual } from '../../../src/index.ts'
import { insidesOf } from '../../../src/queue/insides.ts'
import { moveQueue, type MoveReport } from '../../../src/queue/moving/move.ts'
import { systemRandom } from '../../../src/random.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { takeCensus } from '../../../src/testing/index.ts'
import { claimDue, message, retry } from '../../../src/testing/conformance/stand.ts'
import { freshDatabase, isMysqlThere } from '../../store/mysql/server.ts'
import { PostgresDatabase } from '../../store/postgres/server.ts'
import { RedisCluster } from '../../store/redis/cluster/servers.ts'
import { RedisServer } from '../../store/redis/server.ts'
import { controlsOf, fill, HOUR_MS, idsIn, see } from './content.ts'

type Name = 'file' | 'redis' | 'postgres' | 'cluster' | 'mysql'

const urls = new Map<Name, string>()
const ends: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'punctual-moving-'))
  const redis = await RedisServer.start()
  const postgres = await PostgresDatabase.make()
  const cluster = await RedisCluster.start()
  ends.push(
    () => redis.stop(),
    () => cluster.stop(),
    () => rm(directory, { recursive: true, force: true }),
  )
  urls.set('file', `file:${directory}/store`)
  urls.set('redis', redis.url)
  urls.set('postgres', postgres.url)
  urls.set('cluster', cluster.url('?partitions=3'))
  if (isMysqlThere) urls.set('mysql', await freshDatabase())
})

afterAll(async () => {
  for (const end of ends) await end()
})

type Opened = { readonly store: Store; readonly queue: Punctual }

async function open(name: Name, queueName: string): Promise<Opened> {
  const queue = new Punctual({ store: urls.get(name) ?? '', queue: queueName, logger: false })
  return { queue, store: await insidesOf(queue).open() }
}

function move(source: Store, target: Store): Promise<MoveReport> {
  return moveQueue({
    source,
    target,
    clock: systemClock,
    random: systemRandom,
    host: hostname(),
    waitMs: 60_000,
    isAnew: false,
    onProgress: () => undefined,
  })
}

/** Each ordered pair of two engines once. */
const JOURNEY: readonly Name[] = [
  'file',
  'redis',
  'postgres',
  'cluster',
  'file',
  'postgres',
  'redis',
  'cluster',
  'postgres',
  'file',
  'cluster',
  'redis',
  'file',
  ...(isMysqlThere
    ? (['mysql', 'redis', 'mysql', 'postgres', 'mysql', 'cluster', 'mysql', 'file'] as const)
    : []),
]

describe('a queue moved over all engines', () => {
  it('arrives whole: every message, dead letter, remembered id, schedule, tag, attempt and moment', async () => {
    let current = await open(JOURNEY[0] as Name, 'journey')
    await fill(current.store, 700)
    await current.store.control({ kind: 'pause', topic: 'held' })
    const before = await see(current.store)
    expect(idsIn(before)).toHaveLength(707)
    for (const [index, name] of JOURNEY.slice(1).entries()) {
      const next = await open(name, 'journey')
      const about = `${JOURNEY[index]} to ${name}`
      const { conflicts, left, moved } = await move(current.store, next.store)
      expect([conflicts, left], about).toEqual([[], 0])
      expect(moved, about).toEqual({ schedules: 1, waiting: 702, dead: 2, remembered: 2 })
      expect(await see(next.store), about).toEqual(before)
      expect((await takeCensus(current.store)).total, about).toBe(0)
      expect((await takeCensus(next.store)).total, about).toBe(704)
      expect(
        (await controlsOf(next.store)).map(({ topic }) => topic),
        about,
      ).toEqual(['held'])
      // The store’s own: a message that nobody handles is a problem of the queue after a minute, which a journey may take.
      expect(
        (await next.store.doctor()).filter(({ level }) => level === 'problem'),
        about,
      ).toEqual([])
      await current.queue.stop()
      current = next
    }
    const [lease] = await claimDue(current.store, 1, ['other'])
    expect(lease).toMatchObject({ id: 'ready', attempt: 1 })
    expect(await current.store.revive(['buried'])).toEqual(['revived'])
    await current.queue.stop()
  })

  it('keeps the order in which messages of one moment were produced, and limits', async () => {
    const journey = ['file', 'redis', 'postgres', 'file'] as const
    let current = await open(journey[0], 'order')
    const ids = Array.from({ length: 650 }, (_, index) => `${(index * 7919) % 650}-id`)
    await current.store.put(ids.map((id) => message(id, { when: { at: Date.now() + HOUR_MS } })))
    await current.store.control({ kind: 'limit', topic: 'a', limit: { rate: { intervalMs: 250, burst: 4 } } })
    for (const name of journey.slice(1)) {
      const next = await open(name, name === 'file' ? 'order-again' : 'order')
      await move(current.store, next.store)
      const walked: string[] = []
      for (let cursor: string | undefined, isMore = true; isMore; isMore = cursor !== undefined) {
        const about = cursor === undefined ? {} : { cursor }
        const page = await next.store.inspect({ state: 'delayed', limit: 200, ...about })
        walked.push(...page.items.map(({ id }) => id))
        cursor = page.cursor
      }
      expect(walked, name).toEqual(ids)
      expect(await controlsOf(next.store), name).toEqual([
        { topic: 'a', limit: { rate: { intervalMs: 250, burst: 4 } } },
      ])
      await current.queue.stop()
      current = next
    }
    await current.queue.stop()
  })

  it('does not begin where the target cannot keep a limit', async () => {
    const [source, target] = [await open('redis', 'limited'), await open('cluster', 'limited')]
    await source.store.control({ kind: 'limit', topic: 'a', limit: { concurrency: 2 } })
    await source.store.put([message('a')])
    await expect(move(source.store, target.store)).rejects.toMatchObject({ code: 'UNSUPPORTED' })
    expect(await claimDue(source.store)).toHaveLength(1)
    await Promise.all([source.queue.stop(), target.queue.stop()])
  })

  it.each(['file', 'redis', 'postgres', 'cluster'] as const)(
    '%s: while workers run, each message runs once, on one side or the other, and none early',
    async (name) => {
      const other = name === 'postgres' ? 'redis' : 'postgres'
      const [from, to] = [await open(name, `live-${name}`), await open(other, `live-${name}`)]
      const runs = new Map<string, number>()
      const early: string[] = []
      const occurrences: number[] = []
      const handle = (queue: Punctual): void => {
        queue.handle('live', async ({ id, dueAt }) => {
          runs.set(id, (runs.get(id) ?? 0) + 1)
          if (Date.now() < Math.floor(dueAt)) early.push(id)
          await new Promise((resolve) => setTimeout(resolve, 5))
        })
        queue.handle('tick', async ({ dueAt }) => void occurrences.push(dueAt))
      }
      const ids = Array.from({ length: 400 }, (_, index) => `m${index}`)
      handle(from.queue)
      handle(to.queue)
      const ticking = { topic: 'tick', payload: {}, every: '1s' } as const
      await from.queue.schedules.set('ticking', ticking)
      // As every process does at its start: the one that was set first goes on, and its rhythm with it.
      await to.queue.schedules.set('ticking', ticking)
      await from.queue.produceMany(
        ids.map((id, index) => ({ topic: 'live', payload: 1, id, delay: (index % 20) * 100 })),
      )
      await from.queue.start()
      await to.queue.start()
      await until(() => runs.size > 20 && occurrences.length > 0)
      const { conflicts, left } = await move(from.store, to.store)
      expect([conflicts, left]).toEqual([[], 0])
      const movedAt = Date.now()
      await until(() => runs.size === ids.length && occurrences.filter((at) => at > movedAt).length > 2)
      const [found] = (await to.store.inspect({ ids: [scheduleId('ticking')] })).items
      const { anchorAt = 0 } = decodeSchedule(JSON.parse(found?.body ?? ''))?.progress ?? {}
      // Moved moments are whole milliseconds.
      const offBeat = (at: number): number => Math.abs(((at - anchorAt + 500) % 1_000) - 500)
      expect(occurrences.filter((at) => at > movedAt && offBeat(at) > 1)).toEqual([])
      expect([...runs].filter(([, count]) => count > 1)).toEqual([])
      expect(early).toEqual([])
      expect(occurrences).toHaveLength(new Set(occurrences).size)
      await Promise.all([from.queue.stop(), to.queue.stop()])
    },
  )
})

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 10))
}

describe('a retry on its way', () => {
  it('goes on counting in the target, and is due when it was', async () => {
    const [source, target] = [await open('redis', 'retried'), await open('file', 'retried')]
    await source.store.put([message('a')])
    const [lease] = await claimDue(source.store)
    if (lease !== undefined) await source.store.settle([retry(lease, 1)])
    await move(source.store, target.store)
    await until(() => Date.now() > (lease?.dueAt ?? 0) + 10)
    expect(await claimDue(target.store)).toMatchObject([
      { id: 'a', attempt: 2, firstDueAt: lease?.firstDueAt },
    ])
    await Promise.all([source.queue.stop(), target.queue.stop()])
  })
})
