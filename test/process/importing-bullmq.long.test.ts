/** `punctual import bullmq`, from what a real queue holds after a while in use: the odd cases, and how they are told. */
import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeDue, writeManyBullmq, writeOddNames } from '../packages/migrating/write.mjs'
import { decodePolicy } from '../../src/core/encoding/codec.ts'
import { Punctual } from '../../src/index.ts'
import type { ImportReport, LeftOut } from '../../src/queue/importing/import.ts'
import { insidesOf } from '../../src/queue/insides.ts'
import type { StoredMessage } from '../../src/store/contract/store.ts'
import { makePlace, type Place } from '../cli/punctual.ts'
import { RedisServer } from '../store/redis/server.ts'
import { until } from '../store/redis/until.ts'

const ODD = join(import.meta.dirname, '../packages/migrating/odd.mjs')
const HOUR_MS = 3_600_000
const ZONE = 'America/New_York'

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server?.stop())

async function writeOdd(
  version: 5 | 6,
  name: string,
  zone = ZONE,
): Promise<{ readonly dailyAt: number; readonly secondlyAt: number }> {
  const program = [ODD, String(version), server.url, name]
  const { stdout } = await promisify(execFile)(process.execPath, program, {
    env: { ...process.env, TZ: zone },
  })
  return JSON.parse(stdout) as { dailyAt: number; secondlyAt: number }
}

function words(queue: string, ...more: readonly string[]): string[] {
  return ['import', 'bullmq', '--redis', server.url, '--queue', queue, ...more]
}

/** Whatever its exit code says. */
async function report(place: Place, queue: string, ...more: readonly string[]): Promise<ImportReport> {
  const { stdout } = await place.run(words(queue, '--json', ...more))
  return JSON.parse(stdout) as ImportReport
}

function queueAt(place: Place, queue: string): Punctual {
  return new Punctual({ store: `file:${place.directory}/.punctual`, queue, logger: false })
}

async function read(queue: Punctual, ...ids: readonly string[]): Promise<readonly StoredMessage[]> {
  return (await (await insidesOf(queue).open()).inspect({ ids })).items
}

function whyOf(told: readonly LeftOut[], name: string): readonly string[] {
  return told.filter((one) => one.name === name).map(({ why }) => why)
}

describe.each([5, 6] as const)('BullMQ %i', (version) => {
  it('a cron expression without a zone stays there until --zone names one that fits its next moment', async () => {
    const name = `zones-${version}`
    const { dailyAt } = await writeOdd(version, name)
    const place = await makePlace()
    const first = await report(place, name)
    const [why] = whyOf(first.leftOut, 'daily')
    expect(why).toContain(
      `its zone: it names none, and its next moment there, ${new Date(dailyAt).toISOString()}, is not one of "0 9 * * *" in UTC; use --zone`,
    )
    // The minutes of an hour are the same in both zones.
    expect(whyOf([...first.leftOut, ...first.without], 'hourly')).toEqual([])
    const elsewhere = await report(place, name, '--zone', 'Europe/Berlin')
    expect(whyOf(elsewhere.leftOut, 'daily')).toEqual([expect.stringContaining('in Europe/Berlin')])
    const queue = queueAt(place, name)
    expect(await queue.schedules.get('daily')).toBeUndefined()
    expect((await place.run(words(name))).code).toBe(1)

    expect(whyOf((await report(place, name, '--zone', ZONE)).leftOut, 'daily')).toEqual([])
    expect(await queue.schedules.get('daily')).toMatchObject({ zone: ZONE, nextAt: dailyAt })
    // Done again without the zone, it is there already.
    expect(await report(place, name)).toMatchObject({ schedules: 0, scheduleConflicts: [] })
    await queue.stop()
  })

  it('a zone that fits and may yet be another one is told', async () => {
    const name = `utc-${version}`
    const { dailyAt } = await writeOdd(version, name, 'UTC')
    const place = await makePlace()
    const { without } = await report(place, name)
    expect(whyOf(without, 'daily')).toEqual([expect.stringContaining('UTC fits its next moment')])
    expect(whyOf(without, 'hourly')).toEqual([])
    const queue = queueAt(place, name)
    expect(await queue.schedules.get('daily')).toMatchObject({ zone: 'UTC', nextAt: dailyAt })
    // London in winter looks the same; whoever learns of it later is told what to do.
    const later = await report(place, name, '--zone', 'Africa/Abidjan')
    expect(later.leftOut.filter((one) => one.name === 'daily')).toEqual([
      {
        why: 'it is here in UTC',
        remedy: '`punctual schedule remove daily`, then import again',
        name: 'daily',
        count: 1,
      },
    ])
    await queue.schedules.remove('daily')
    await report(place, name, '--zone', 'Africa/Abidjan')
    expect(await queue.schedules.get('daily')).toMatchObject({ zone: 'Africa/Abidjan' })
    await queue.stop()
  })

  it('what was retried by hand after its last attempt gets one more, and a handler runs it', async () => {
    const name = `by-hand-${version}`
    await writeOdd(version, name)
    const place = await makePlace()
    await report(place, name)
    const queue = queueAt(place, name)
    const [stored] = await read(queue, 'by-hand')
    expect(stored).toMatchObject({ state: 'ready', attempt: 1 })
    const attempt = await new Promise<number>((resolve) => {
      queue.handle('work', async (message) => {
        if (message.id === 'by-hand') resolve(message.attempt)
      })
      void queue.start()
    })
    expect(attempt).toBe(2)
    await queue.stop()
  })

  it('jobs of a schedule: its retry, its overdue one, and what is left of its limit', async () => {
    const name = `occurrences-${version}`
    const { secondlyAt } = await writeOdd(version, name)
    const place = await makePlace()
    await report(place, name)
    const queue = queueAt(place, name)
    const delayed = await queue.list({ state: 'delayed' })
    expect(delayed.items).toMatchObject([
      { topic: 'poll', payload: { n: 1 }, attempt: 1, retry: { limit: 1, delays: [HOUR_MS] } },
    ])
    const [overdue] = await read(queue, `repeat:secondly:${secondlyAt}`)
    expect(overdue).toMatchObject({ topic: 'tick', body: '{"n":9}', state: 'ready', dueAt: secondlyAt })
    // One of five is the overdue one.
    expect(await queue.schedules.get('secondly')).toMatchObject({ times: 4 })
    await queue.stop()
  })

  it('P2: a moment that a worker moved to the waiting jobs between two imports comes once, by its schedule', async () => {
    const name = `moved-${version}`
    const { queue: there, nextAt } = await writeDue(version, server.url, name)
    const place = await makePlace()
    expect(await report(place, name)).toMatchObject({ imported: 0, schedules: 1 })
    const worker = await there.workPaused()
    await until('the worker moved it', async () => (await there.waiting()).length > 0)
    await worker.close()
    expect(await there.waiting()).toEqual([`repeat:soon:${nextAt}`])
    expect(await report(place, name)).toMatchObject({ imported: 0, present: 1, presentSchedules: 1 })
    const queue = queueAt(place, name)
    expect(await queue.get(`repeat:soon:${nextAt}`)).toBeUndefined()
    // Where no schedule brings it, it is a job.
    const empty = await makePlace()
    expect(await report(empty, name)).toMatchObject({ imported: 1, schedules: 1 })
    const other = queueAt(empty, name)
    expect(await other.get(`repeat:soon:${nextAt}`)).toMatchObject({ topic: 'tick', payload: { n: 1 } })
    expect(Number((await other.schedules.get('soon'))?.nextAt)).toBeGreaterThan(nextAt)
    expect(await report(empty, name)).toMatchObject({ imported: 0, present: 1, presentSchedules: 1 })
    await Promise.all([queue.stop(), other.stop(), there.close()])
  })

  it('a job without a name is told, and comes with --unnamed, under which the others keep their names', async () => {
    const name = `nameless-${version}`
    await writeOdd(version, name)
    const place = await makePlace()
    const { leftOut } = await report(place, name)
    expect(leftOut.filter((one) => one.name === '')).toEqual([
      {
        why: 'it has no name, and a topic needs one; use --unnamed TOPIC',
        option: '--unnamed',
        name: '',
        count: 1,
      },
    ])
    expect(await report(place, name, '--unnamed', 'other')).toMatchObject({ imported: 1, conflicts: [] })
    const queue = queueAt(place, name)
    expect(await queue.get('nameless')).toMatchObject({ topic: 'other', payload: { n: 3 } })
    expect(await queue.get('jittered')).toMatchObject({ topic: 'work' })
    await queue.stop()
  })

  it('a name or an id that cannot be one here is told with the limit; with --topic the others are there already', async () => {
    const name = `names-${version}`
    await writeOddNames(version, server.url, name)
    const place = await makePlace()
    const first = await report(place, name)
    expect(first.leftOut).toEqual([
      {
        why: 'its name is "." or "..", or has more than 200 bytes or control characters, and cannot be a topic; use --topic',
        option: '--topic',
        name: 'two\nlines',
        count: 1,
      },
      {
        why: 'its id is "." or "..", or has more than 200 bytes or control characters',
        remedy: 'let a worker there finish it, or produce it here with another id',
        name: 'mail',
        count: 1,
      },
    ])
    // The first job of `every` is due at once, and the schedule brings it.
    const { imported, schedules } = first
    expect(schedules).toBe(1)
    expect(await report(place, name, '--topic', 'misc')).toMatchObject({
      imported: 1,
      present: imported,
      schedules: 0,
      presentSchedules: 1,
      conflicts: [],
      scheduleConflicts: [],
    })
    const queue = queueAt(place, name)
    expect(await queue.get('odd-name')).toMatchObject({ topic: 'misc', payload: { n: 1 } })
    expect(await queue.get('plain')).toMatchObject({ topic: 'mail' })
    expect((await queue.list({ topic: 'misc' })).items).toHaveLength(1)
    await queue.stop()
  })

  it('a backoff of its own leaves the retries to the handler; jitter stays', async () => {
    const name = `backoff-${version}`
    await writeOdd(version, name)
    const place = await makePlace()
    const { without } = await report(place, name)
    expect(whyOf(without, 'own-backoff')).toEqual([
      'its attempts and its own backoff "moon": the "retry" of its handler holds, from the first attempt',
    ])
    const queue = queueAt(place, name)
    expect(await queue.schedules.get('own-backoff')).not.toHaveProperty('retry')
    const [jittered] = await read(queue, 'jittered')
    expect(decodePolicy(jittered?.meta ?? '')).toMatchObject({
      retry: { limit: 2, waits: { baseMs: 1_000, factor: 1, jitter: 0.5 } },
    })
    await queue.stop()
  })

  it('a name that another schedule has is told, and --id-prefix keeps both', async () => {
    const name = `taken-${version}`
    await writeOdd(version, name)
    const place = await makePlace()
    const queue = queueAt(place, 'mine')
    await queue.schedules.set('hourly', { topic: 'report', payload: { n: 6 }, every: '1h' })
    await queue.produce('another', 1, { id: 'jittered' })
    const into = ['--to-queue', 'mine', '--zone', ZONE]
    const first = await place.run(words(name, ...into))
    expect(first.code).toBe(1)
    expect(first.stdout).toContain('1 id taken by another message here, not imported: jittered\n')
    expect(first.stdout).toContain('1 name taken by another schedule here, not imported: hourly\n')
    expect(first.stdout).toContain(
      'with --id-prefix they get others; what this import has brought without it',
    )
    expect(await queue.schedules.get('hourly')).toMatchObject({ everyMs: HOUR_MS })

    const second = await report(place, name, ...into, '--id-prefix', 'b:')
    expect(second).toMatchObject({ present: 0, presentSchedules: 0, conflicts: [], scheduleConflicts: [] })
    expect(await queue.schedules.get('b:hourly')).toMatchObject({ zone: ZONE, payload: { n: 6 } })
    expect(await queue.get('b:jittered')).toMatchObject({ topic: 'work', payload: { n: 4 } })
    expect(await report(place, name, ...into, '--id-prefix', 'b:')).toMatchObject({
      imported: 0,
      schedules: 0,
      scheduleConflicts: [],
    })
    await queue.stop()
  })

  it('P2: an id that was imported, has run, and is of another job now is told', async () => {
    const name = `again-${version}`
    await writeManyBullmq(version, server.url, name, 2)
    const place = await makePlace()
    expect(await report(place, name)).toMatchObject({ imported: 2 })
    const queue = queueAt(place, name)
    queue.handle('many', () => undefined)
    await queue.start()
    await queue.reschedule('job-0', { delay: 0 })
    await until('it has run', async () => (await queue.get('job-0'))?.state === 'completed')
    expect(await report(place, name)).toMatchObject({ imported: 0, present: 2, conflicts: [] })
    // Another queue's jobs, with the same ids, names and data.
    await writeManyBullmq(version, server.url, `${name}-other`, 2)
    const other = await report(place, `${name}-other`, '--to-queue', name)
    expect(other).toMatchObject({ imported: 0, present: 0, conflicts: ['job-0', 'job-1'] })
    await queue.stop()
  })

  it('a dry run says what the real one does, and makes no store', async () => {
    const name = `dry-${version}`
    await writeOdd(version, name)
    const place = await makePlace()
    const before = await readdir(place.directory)
    const dry = await report(place, name, '--dry-run')
    expect(await readdir(place.directory)).toEqual(before)
    expect(dry).toEqual({ ...(await report(place, name)), dryRun: true })
    expect(whyOf(dry.leftOut, 'too-often')).toEqual([
      expect.stringContaining('it cannot be a schedule: every is 500'),
    ])
  })
})

describe('a queue that is not there', () => {
  it('is an error that names those that are, and leaves nothing behind', async () => {
    await writeManyBullmq(6, server.url, 'orders', 1)
    const place = await makePlace()
    const before = await readdir(place.directory)
    const misspelt = await place.run(words('order'))
    expect(misspelt).toMatchObject({ code: 1, stdout: '' })
    expect(misspelt.stderr).toMatch(
      /there is no queue "order" of bullmq with the prefix "bull"; under this prefix there are: .*\borders\b.* Name one with --queue/,
    )
    const elsewhere = await place.run(words('orders', '--prefix', '{app}*'))
    expect(elsewhere).toMatchObject({ code: 1 })
    expect(elsewhere.stderr).toContain('no queue lies under this prefix: give --prefix')
    expect(await readdir(place.directory)).toEqual(before)
  })
})
