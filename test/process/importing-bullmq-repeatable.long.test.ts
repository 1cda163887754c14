/** `punctual import bullmq`: repeatable jobs of BullMQ 5, `queue.add` with `repeat`, which are no job schedulers. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { writeRepeatables, writeWithoutNext } from '../packages/migrating/repeatable.mjs'
import { Punctual } from '../../src/index.ts'
import type { ImportReport } from '../../src/queue/importing/import.ts'
import { makePlace, type Place } from '../cli/punctual.ts'
import { RedisServer } from '../store/redis/server.ts'
import { until } from '../store/redis/until.ts'

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server?.stop())

/** Without the count of those that are done there. */
async function report(place: Place, queue: string): Promise<ImportReport> {
  const words = ['import', 'bullmq', '--redis', server.url, '--queue', queue, '--json']
  const told = JSON.parse((await place.run(words)).stdout) as ImportReport
  return { ...told, leftOut: told.leftOut.filter(({ why }) => why !== 'it is done') }
}

function queueAt(place: Place, queue: string): Punctual {
  return new Punctual({ store: `file:${place.directory}/.punctual`, queue, logger: false })
}

function hashOf(text: string): string {
  return createHash('md5').update(text).digest('hex')
}

function namesFor(pattern: string): readonly string[] {
  const made = ['hashed:', 'oldest:', 'unhashed:', 'with-id:x1'].map((start) => [
    start.replace(/:.*/, ''),
    hashOf(`${start}::UTC:${pattern}`).slice(0, 8),
  ])
  return [...made.map((parts) => parts.join(':')), 'my-own-key'].toSorted()
}

async function schedulesOf(queue: Punctual): Promise<readonly string[]> {
  return (await queue.schedules.list()).items.map(({ name }) => name).toSorted()
}

it('P2: one that a worker there ran between two imports is one schedule, whatever its key', async () => {
  const pattern = '* * * * * *'
  const there = await writeRepeatables(server.url, 'twice', { repeat: { pattern, tz: 'UTC' } })
  const place = await makePlace()
  const queue = queueAt(place, 'twice')
  expect(await report(place, 'twice')).toMatchObject({ schedules: 5, scheduleConflicts: [], leftOut: [] })
  expect(await schedulesOf(queue)).toEqual(namesFor(pattern))
  const key = hashOf(`hashed:::UTC:${pattern}`)
  expect(await there.hash(key)).not.toHaveProperty('data')
  await there.run(2)
  // What made another kind of it.
  expect(await there.hash(key)).toMatchObject({ ic: expect.any(String) as string, data: '{"n":0}' })
  expect(await report(place, 'twice')).toMatchObject({
    imported: 0,
    schedules: 0,
    presentSchedules: 5,
    conflicts: [],
    scheduleConflicts: [],
    leftOut: [],
  })
  expect(await schedulesOf(queue)).toEqual(namesFor(pattern))
  await Promise.all([queue.stop(), there.close()])
})

it('with a limit: what ran there and what runs here are as many as it says', async () => {
  const limit = 5
  const repeat = { pattern: '*/3 * * * * *', tz: 'UTC', limit }
  const there = await writeRepeatables(server.url, 'limited', { repeat })
  const untouched = await makePlace()
  expect(await report(untouched, 'limited')).toMatchObject({ schedules: 5, without: [] })

  const ran = { ...(await there.run(2)) }
  const place = await makePlace()
  const queue = queueAt(place, 'limited')
  for (const name of there.names)
    queue.handle(name, () => {
      ran[name] = (ran[name] ?? 0) + 1
    })
  await queue.start()
  expect(await report(place, 'limited')).toMatchObject({ schedules: 5, without: [], leftOut: [] })
  await until('all have ended and nothing waits', async () => {
    const { items } = await queue.schedules.list()
    const { ready, delayed, running } = (await queue.stats()).counts
    return items.every(({ state }) => state === 'ended') && ready + delayed + running === 0
  })
  expect(ran).toEqual(Object.fromEntries(there.names.map((name) => [name, limit])))
  // Those that are here already have ended too: nothing is set again.
  expect(await report(place, 'limited')).toMatchObject({ imported: 0, schedules: 0 })
  await Promise.all([queue.stop(), there.close()])
})

it('one that has ended there does not begin again here, also where its jobs are removed', async () => {
  const repeat = { pattern: '* * * * * *', tz: 'UTC', limit: 2 }
  const there = await writeRepeatables(server.url, 'ended', { repeat, removeOnComplete: true })
  await there.run(2)
  const place = await makePlace()
  const { schedules, imported, leftOut } = await report(place, 'ended')
  expect([schedules, imported]).toEqual([0, 0])
  expect(leftOut.map(({ why }) => why).toSorted()).toEqual([
    ...Array.from({ length: 4 }, () => expect.stringContaining('its next job is not there') as string),
    'its pattern is not stored with it',
  ])
  await there.close()
})

it('a scheduler without its next job comes without a limit, and that is told', async () => {
  await writeWithoutNext(5, server.url, 'no-next')
  const place = await makePlace()
  expect(await report(place, 'no-next')).toMatchObject({
    schedules: 1,
    without: [{ why: 'its limit, if it had one: its next job is not there', name: 'nightly', count: 1 }],
  })
})
