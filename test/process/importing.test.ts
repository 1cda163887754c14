/** `punctual import`, from real data of BullMQ 5 and 6 and of bee-queue. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  runManyBee,
  runManyBullmq,
  writeBee,
  writeBullmq,
  writeManyBullmq,
} from '../packages/migrating/write.mjs'
import { Punctual } from '../../src/index.ts'
import { insidesOf } from '../../src/queue/insides.ts'
import { decodePolicy } from '../../src/core/encoding/codec.ts'
import type { StoredMessage } from '../../src/store/contract/store.ts'
import { PlaceHere } from '../cli/in-process.ts'
import { makePlace, type Place } from '../cli/punctual.ts'
import { RedisServer } from '../store/redis/server.ts'
import { until } from '../store/redis/until.ts'

const DAY_MS = 86_400_000
const YEAR_MS = 365 * DAY_MS

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server?.stop())

function words(kind: string, queue: string, ...more: readonly string[]): string[] {
  return ['import', kind, '--redis', server.url, '--queue', queue, ...more]
}

/** A store of its own, in files; commands run in this process, and as processes in `importing-bullmq.long.test.ts`. */
async function here(): Promise<Place> {
  return makePlace(undefined, undefined, PlaceHere)
}

function queueAt(place: Place, queue: string): Punctual {
  return new Punctual({ store: `file:${place.directory}/.punctual`, queue, logger: false })
}

async function read(queue: Punctual, ids: readonly string[]): Promise<readonly StoredMessage[]> {
  return (await (await insidesOf(queue).open()).inspect({ ids })).items
}

async function missing(queue: Punctual, ids: readonly string[]): Promise<readonly string[]> {
  const found = new Set<string>()
  for (let from = 0; from < ids.length; from += 100)
    for (const { id } of await read(queue, ids.slice(from, from + 100))) found.add(id)
  return ids.filter((id) => !found.has(id))
}

describe.each([5, 6] as const)('BullMQ %i', (version) => {
  it('carries ids, moments, attempts, waits, priorities and schedules over, and names the rest', async () => {
    const name = `one-of-each-${version}`
    const { laterAt, tickAt, failedAt } = await writeBullmq(version, server.url, name)
    const look = async (): Promise<unknown[]> => [
      await server.admin(['ZRANGE', `bull:${name}:delayed`, '0', '-1', 'WITHSCORES']),
      await server.admin(['HGETALL', `bull:${name}:later`]),
      await server.admin(['HGETALL', `bull:${name}:meta`]),
    ]
    const before = await look()
    const place = await here()
    const report = {
      imported: 11,
      dead: 1,
      present: 0,
      schedules: version === 5 ? 3 : 2,
      presentSchedules: 0,
      conflicts: [],
      scheduleConflicts: [],
      doneThere: [],
      leftOut: [
        { why: 'it is a child of a flow', name: 'child', count: 1 },
        {
          why: 'it is active there',
          remedy: 'let a worker there finish it, then import again',
          name: 'busy',
          count: 1,
        },
        { why: 'it waits for the children of its flow', name: 'parent', count: 1 },
      ],
      without: [
        {
          why: 'its attempts and its own backoff "moon": the "retry" of its handler holds, from the first attempt',
          name: 'mail',
          count: 1,
        },
        { why: 'its deduplication id', name: 'mail', count: 1 },
      ],
      isPaused: true,
    }
    expect(await place.json(words('bullmq', name, '--dry-run'))).toEqual({ ...report, dryRun: true })
    expect(await place.json(words('bullmq', name))).toEqual(report)
    expect(await look()).toEqual(before)
    expect(await place.run(words('bullmq', name))).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('busy: it is active there; let a worker there finish it') as string,
    })

    const queue = queueAt(place, name)
    const ids = ['later', 'failed-once', 'urgent', 'first', 'second', 'custom']
    const [later, failed, urgent, first, second, custom] = await read(queue, ids)
    expect(later).toMatchObject({ topic: 'mail', state: 'delayed', dueAt: laterAt, attempt: 0, priority: 1 })
    expect(JSON.parse(later?.body ?? '')).toEqual({ n: 6, text: 'é\u2028' })
    expect(failed).toMatchObject({ topic: 'failing', state: 'delayed', attempt: 1, error: 'boom' })
    expect(decodePolicy(failed?.meta ?? '')).toEqual({
      retry: { limit: 2, waits: [3_600_000] },
      rememberMs: 7 * DAY_MS,
    })
    expect(urgent).toMatchObject({ state: 'ready', priority: 2 })
    expect(first).toMatchObject({ state: 'ready', priority: 1 })
    expect(decodePolicy(first?.meta ?? '')).toMatchObject({ retry: { limit: 0 } })
    expect(decodePolicy(second?.meta ?? '')).toMatchObject({
      retry: { limit: 3, waits: { baseMs: 1_000, factor: 2, capMs: YEAR_MS, jitter: 0 } },
    })
    expect(decodePolicy(custom?.meta ?? '')).toEqual({ rememberMs: 7 * DAY_MS })
    expect(await queue.get('failed-for-good')).toMatchObject({
      state: 'dead',
      topic: 'failing',
      payload: { n: 14 },
      reason: 'failed',
      error: 'bang',
      attempt: 1,
      retry: { limit: 0, delays: [0] },
      diedAt: failedAt,
    })

    expect(await queue.schedules.get('nightly')).toMatchObject({
      topic: 'report',
      cron: '0 3 * * *',
      zone: 'Europe/Berlin',
      times: 10,
      payload: { n: 9 },
    })
    const ticking = await queue.schedules.get('ticking')
    expect(ticking).toMatchObject({ topic: 'tick', everyMs: 7_200_000, payload: { n: 10 } })
    expect(((ticking?.nextAt ?? 0) - tickAt) % 7_200_000).toBe(0)
    if (version === 5)
      expect((await queue.schedules.list()).items.map(({ topic, cron }) => [topic, cron])).toContainEqual([
        'old',
        '0 4 1 1 *',
      ])
    await queue.stop()
  })

  it('again brings nothing twice, also after the messages have run', async () => {
    const name = `again-${version}`
    await writeBullmq(version, server.url, name)
    const place = await here()
    await place.json(words('bullmq', name, '--priorities', '10,100'))
    const queue = queueAt(place, name)
    const ran: string[] = []
    queue.handle('mail', async ({ id }) => void ran.push(id))
    queue.handle('tick', async ({ id }) => void ran.push(id))
    await queue.start()
    const due = ['urgent', 'first', 'second', 'while-paused', 'whenever']
    while (due.some((id) => !ran.includes(id))) await new Promise((resolve) => setTimeout(resolve, 10))
    await queue.stop()
    expect(ran.filter((id) => due.includes(id))).toEqual([
      'first',
      'second',
      'while-paused',
      'urgent',
      'whenever',
    ])
    expect(await place.json(words('bullmq', name))).toMatchObject({
      imported: 0,
      schedules: 0,
      conflicts: [],
    })
  })

  it('failed jobs stay there if asked, and come alive again here if not', async () => {
    const name = `failed-${version}`
    await writeBullmq(version, server.url, name)
    const place = await here()
    expect(await place.json(words('bullmq', name, '--leave-failed', '--dry-run'))).toMatchObject({
      imported: 10,
      dead: 0,
      leftOut: expect.arrayContaining([{ why: 'it failed for good', name: 'failing', count: 1 }]) as unknown,
    })
    await place.json(words('bullmq', name))
    const queue = queueAt(place, name)
    expect(await queue.revive({ ids: ['failed-for-good'] })).toBe(1)
    const done = new Promise<unknown>((resolve) => {
      queue.handle('failing', async ({ payload, attempt }) => resolve([payload, attempt]))
    })
    await queue.start()
    expect(await done).toEqual([{ n: 14 }, 1])
    await queue.stop()
  })

  it('killed in the middle, the same call brings the rest', async () => {
    const name = `killed-${version}`
    const count = 3_000
    await writeManyBullmq(version, server.url, name, count)
    const place = await here()
    const queue = queueAt(place, name)
    const counted = async (): Promise<number> => (await queue.stats()).counts.delayed
    const running = place.start(words('bullmq', name))
    while ((await counted()) === 0 && running.child.exitCode === null);
    running.signal('SIGKILL')
    await running.ended
    const after = await counted()
    const report = (await place.json(words('bullmq', name))) as { imported: number; present: number }
    expect(report).toMatchObject({ imported: count - after, present: after })
    expect(await counted()).toBe(count)
    await queue.stop()
  })

  it('P2: beside a worker there, what it did not take is here, and that it was not paused is told', async () => {
    const name = `beside-${version}`
    const there = await runManyBullmq(version, server.url, name, { count: 6_000, overMs: 30_000 })
    await until('the worker runs', async () => (await there.completed()) > 0)
    const place = await here()
    const ended = await place.run(words('bullmq', name))
    const taken = new Set(await there.stop())
    const queue = queueAt(place, name)
    const left = there.ids.filter((id) => !taken.has(id))
    expect(left.length).toBeGreaterThan(0)
    expect(await missing(queue, left)).toEqual([])
    expect(ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('some may be missing: pause it and import again') as string,
    })
    await queue.stop()
  })

  it('takes one topic for all, another queue, and says when the other one is not paused', async () => {
    const name = `topic-${version}`
    await writeManyBullmq(version, server.url, name, 3)
    await server.admin(['HDEL', `bull:${name}:meta`, 'paused'])
    const place = await here()
    await place.run(['produce', 'another', '1', '--id', 'job-1', '--queue', 'mine'])
    const ended = await place.run(words('bullmq', name, '--topic', 'all', '--to-queue', 'mine'))
    expect(ended).toEqual({
      code: 1,
      stdout:
        'imported 2 messages and 0 schedules; 0 there already\n' +
        '1 id taken by another message here, not imported: job-1\n' +
        '  with --id-prefix they get others; what this import has brought without it would then come a second time\n',
      stderr:
        'the other queue is not paused: its workers may run what was imported, too, and some may be missing: pause it and import again\n',
    })
    const queue = queueAt(place, 'mine')
    expect((await read(queue, ['job-0', 'job-1'])).map(({ topic }) => topic)).toEqual(['all', 'another'])
    await queue.stop()
  })
})

describe('bee-queue', () => {
  it('carries ids, moments, retries, waits and timeouts over', async () => {
    const { laterAt } = await writeBee(server.url, 'bees')
    const place = await here()
    expect(await place.json(words('bee-queue', 'bees', '--topic', 'bee'))).toMatchObject({
      imported: 3,
      leftOut: [],
      without: [],
    })
    const queue = queueAt(place, 'bees')
    const [first, second, later] = await read(queue, ['1', '2', 'later'])
    expect(first).toMatchObject({ topic: 'bee', state: 'ready', body: '{"n":1}' })
    expect(decodePolicy(first?.meta ?? '')).toMatchObject({ retry: { limit: 0, waits: [0] } })
    expect(decodePolicy(second?.meta ?? '')).toMatchObject({
      timeoutMs: 5_000,
      retry: { limit: 3, waits: { baseMs: 1_000, factor: 2 } },
    })
    expect(later).toMatchObject({ state: 'delayed', dueAt: laterAt })
    expect(decodePolicy(later?.meta ?? '')).toMatchObject({ retry: { limit: 2, waits: [500] } })
    expect(await place.json(words('bee-queue', 'bees', '--topic', 'bee'))).toMatchObject({
      imported: 0,
      present: 3,
    })
    await queue.stop()
  })
})

describe('bee-queue with a worker', () => {
  it('P2: what the worker did not take is here', async () => {
    const there = await runManyBee(server.url, 'busy-bees', { count: 6_000, overMs: 30_000 })
    await until('the worker runs', async () => (await there.completed()) > 0)
    const place = await here()
    await place.run(words('bee-queue', 'busy-bees'))
    const taken = new Set(await there.stop())
    const left = there.ids.filter((id) => !taken.has(id))
    expect(left.length).toBeGreaterThan(0)
    const queue = queueAt(place, 'busy-bees')
    expect(await missing(queue, left)).toEqual([])
    await queue.stop()
  })
})

describe('a wrong call', () => {
  it.each([
    [
      ['import', 'kue', '--redis', 'redis://localhost'],
      '"kue" is nothing that can be imported from; give bullmq or bee-queue',
    ],
    [['import', 'bullmq'], '--redis URL is missing'],
    [['import', 'bullmq', '--redis', 'file:a'], '--redis is "file:a"; give a URL like'],
    [['import', 'bullmq', '--redis', 'redis://localhost', '--priorities', '9'], '--priorities is "9"'],
  ])('%j', async (wrong, line) => {
    const place = await here()
    expect(await place.run(wrong)).toMatchObject({ code: 2, stderr: expect.stringContaining(line) as string })
  })

  it('a server that does not answer is named by the option of the source', async () => {
    const place = await here()
    expect(await place.run(['import', 'bullmq', '--redis', 'redis://127.0.0.1:1'])).toMatchObject({
      stderr: expect.stringContaining('Does Redis run there? Name another with --redis URL.') as string,
    })
  })

  it.each(['bullmq', 'bee-queue'])('a queue of %s that is not there', async (kind) => {
    const place = await here()
    expect(await place.run(words(kind, 'nowhere'))).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(`there is no queue "nowhere" of ${kind}`) as string,
    })
  })
})
