/** P19 on each engine, in real time: a window that is closed now moves what comes due, and one that is open lets it start. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, it, onTestFinished } from 'vitest'
import { Punctual, type QueueEvents } from '../../src/index.ts'
import { freshDatabase, isMysqlThere } from '../store/mysql/server.ts'
import { PostgresDatabase } from '../store/postgres/server.ts'
import { RedisCluster } from '../store/redis/cluster/servers.ts'
import { RedisServer } from '../store/redis/server.ts'
import { until } from '../store/redis/until.ts'

const HOUR_MS = 3_600_000

const urls = new Map<string, string>()
const ends: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'punctual-windows-'))
  const [redis, cluster] = [await RedisServer.start(), await RedisCluster.start()]
  ends.push(
    () => redis.stop(),
    () => cluster.stop(),
    () => rm(directory, { recursive: true, force: true }),
  )
  urls.set('memory', 'memory:')
  urls.set('file', `file:${directory}/store`)
  urls.set('redis', redis.url)
  urls.set('postgres', (await PostgresDatabase.make()).url)
  urls.set('cluster', cluster.url('?partitions=3'))
  if (isMysqlThere) urls.set('mysql', await freshDatabase())
})

afterAll(async () => {
  for (const end of ends) await end()
})

/** Four hours long, in UTC, from so many hours from now on. */
function window(inHours: number): { from: string; to: string; zone: string } {
  const from = Date.now() + inHours * HOUR_MS
  return { from: timeOf(from), to: timeOf(from + 4 * HOUR_MS), zone: 'UTC' }
}

function timeOf(at: number): string {
  return new Date(at).toISOString().slice(11, 16)
}

describe.concurrent.each(['memory', 'file', 'redis', 'cluster', 'postgres', 'mysql'])(
  'windows on %s',
  (name) => {
    it.skipIf(name === 'mysql' && !isMysqlThere)(
      'P19: a closed window moves what is due, uncounted, and an open one lets it start',
      async ({ expect }) => {
        const queue = new Punctual({ store: urls.get(name) ?? '', queue: `windows-${name}`, logger: false })
        onTestFinished(async () => void (await queue.stop()))
        const [closed, open] = [window(6), window(-1)]
        const started: unknown[] = []
        const moved: QueueEvents['postponed'][] = []
        queue.on('postponed', (event) => void moved.push(event))
        queue.handle('t', ({ payload }) => void started.push(payload), { within: closed })
        await queue.produce('t', 'by its handler', { id: 'handler' })
        const own = await queue.produce('t', 'its own', { within: closed })
        await queue.start()
        await until('it is moved', async () => moved.length === 1)
        const { until: opening = 0, ...event } = moved[0] ?? {}
        expect(event).toEqual({ id: 'handler', topic: 't', attempt: 1 })
        const found = await queue.get('handler')
        expect(found).toMatchObject({
          state: 'delayed',
          attempt: 0,
          lapses: 0,
          dueAt: opening,
          firstDueAt: opening,
        })
        expect(timeOf(opening)).toBe(closed.from)
        expect(await queue.get(own)).toMatchObject({ dueAt: opening, within: [closed] })
        // Somebody sets it to now: it is moved once more.
        await queue.produce('t', 'again', { id: 'again', within: closed })
        await queue.reschedule('again', { delay: 0 })
        await until('it is moved again', async () => moved.length === 2)
        expect(moved[1]).toEqual({ id: 'again', topic: 't', attempt: 1, until: opening })
        expect(started).toEqual([])
        await queue.produce('t', 'open', { within: open })
        await until('it ran', async () => started.length > 0)
        expect(started).toEqual(['open'])
      },
    )
  },
)
