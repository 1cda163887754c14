/**
 * `punctual import pg-boss`, and what docs/guides/migrating-from-pg-boss.md shows, with real jobs of pg-boss 10 and 12.
 * Of Graphile Worker: what its guide shows.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  sendPgBoss,
  workPgBoss,
  writeGraphile,
  writeManyPgBoss,
  writePgBoss,
} from '../packages/migrating/write.mjs'
import { decodePolicy } from '../../src/core/encoding/codec.ts'
import { Punctual } from '../../src/index.ts'
import { readSchedule } from '../../src/queue/importing/occurrence.ts'
import { insidesOf } from '../../src/queue/insides.ts'
import type { StoredMessage } from '../../src/store/contract/store.ts'
import { PlaceHere } from '../cli/in-process.ts'
import { makePlace } from '../cli/punctual.ts'
import { PostgresDatabase, queryAt } from '../store/postgres/server.ts'
import { until } from '../store/redis/until.ts'

const GUIDES = join(import.meta.dirname, '../../docs/guides')

/** Of its own, so that both versions find the schema that they know. */
async function database(): Promise<string> {
  return (await PostgresDatabase.make()).url
}

function open(url: string): Punctual {
  const queue = new Punctual({ store: url, logger: false })
  onTestFinished(async () => void (await queue.stop()))
  return queue
}

function words(url: string, ...more: readonly string[]): string[] {
  return ['import', 'pg-boss', '--postgres', url, ...more]
}

async function statementOfGuide(peer = 'pg-boss'): Promise<string> {
  const [, statement = ''] =
    /```sql\n([^`]*)```/.exec(await readFile(join(GUIDES, `migrating-from-${peer}.md`), 'utf8')) ?? []
  return statement
}

describe.each([10, 12] as const)('the statement of the guide, pg-boss %i', (version) => {
  it('hands jobs over that wait, with their ids and moments, and nothing else', async () => {
    const url = await database()
    const queue = open(url)
    await queue.stats()
    const ids = await writePgBoss(version, url)
    const statement = await statementOfGuide()
    const moved = await queryAt(url, statement)
    // With those in the list the copy in the dead letter queue. Of a flow none: the second starts when the first is done there.
    expect(moved).toHaveLength(7)
    expect(await queue.get(ids.now)).toMatchObject({
      topic: 'mail',
      payload: { n: 5, text: 'ä"\u2028' },
      state: 'ready',
    })
    expect(await queue.get(ids.retry)).toMatchObject({ topic: 'mail', payload: { n: 0 } })
    expect(await queue.get(ids.empty)).toMatchObject({ topic: 'invoice', payload: null, state: 'delayed' })
    const later = await queue.get(ids.later)
    const [job] = await queryAt(
      url,
      `select (extract(epoch from start_after) * 1000)::float as at from pgboss.job where id = '${ids.later}'`,
    )
    // Reading the clock and storing are two steps of one statement.
    expect(Number(later?.dueAt) - Number(job?.['at'])).toBeGreaterThanOrEqual(0)
    expect(Number(later?.dueAt) - Number(job?.['at'])).toBeLessThan(1_000)
    for (const id of [ids.active, ids.failed, ids.dead, ids.done]) expect(await queue.get(id)).toBeUndefined()
    expect(await queryAt(url, statement)).toEqual([])
    expect(await queryAt(url, `select name from pgboss.job where state < 'active' order by 1`)).toEqual(
      version === 10 ? [] : [{ name: 'child' }, { name: 'parent' }],
    )
  })

  it('P2: loses nothing that is committed while it runs', async () => {
    const url = await database()
    const queue = open(url)
    await queue.stats()
    const producers = new AbortController()
    const sent = sendPgBoss(version, url, producers.signal)
    const statement = await statementOfGuide()
    await until('jobs are there', async () => (await waiting(url)) > 0)
    for (let times = 0; times < 30; times += 1) await queryAt(url, statement)
    producers.abort()
    const ids = await sent
    await queryAt(url, statement)
    expect((await queue.stats()).counts.delayed).toBe(ids.length)
  })
})

describe.each([10, 12] as const)('punctual import pg-boss, version %i', (version) => {
  it('carries ids, moments, attempts, waits, priorities, failures and schedules over, and names the rest', async () => {
    const url = await database()
    const ids = await writePgBoss(version, url)
    const place = await makePlace(undefined, undefined, PlaceHere)
    const look = (): Promise<unknown> => queryAt(url, 'select * from pgboss.job order by id')
    const before = await look()
    const report = {
      imported: 8,
      dead: 1,
      present: 0,
      schedules: version === 10 ? 1 : 2,
      presentSchedules: 0,
      conflicts: [],
      scheduleConflicts: [],
      doneThere: [],
      leftOut: [
        { why: 'it failed, and its copy is in its dead letter queue mail-dead', name: 'mail', count: 1 },
        {
          why: 'it is active there',
          remedy: 'let a worker there finish it, then import again',
          name: 'invoice',
          count: 1,
        },
        { why: 'it is done', name: 'report', count: 1 },
        ...(version === 10
          ? []
          : ['child', 'parent'].map((name) => ({
              why: 'it waits for other jobs, or they for it',
              remedy: 'let the workers there finish these, and import again',
              name,
              count: 1,
            }))),
      ],
      without: [
        ...[{ name: 'mail', count: 4 }].map((of) => ({
          why: 'its dead letter queue mail-dead: it becomes a dead letter of its own topic',
          ...of,
        })),
        { why: 'its singleton key', name: 'invoice', count: 1 },
        ...(version === 10
          ? []
          : [
              {
                why: 'its singleton key; its "missed": once, and here the latest moment that was missed is caught up with',
                name: 'report:often',
                count: 1,
              },
            ]),
      ],
    }
    expect(await place.json(words(url, '--dry-run', '--cancel'))).toEqual({ ...report, dryRun: true })
    expect(await place.json(words(url))).toEqual(report)
    expect(await look()).toEqual(before)

    const queue = new Punctual({ store: `file:${place.directory}/.punctual`, logger: false })
    onTestFinished(async () => void (await queue.stop()))
    const { items } = await (await insidesOf(queue).open()).inspect({ ids: Object.values(ids) })
    const found = (id: string): StoredMessage | undefined => items.find((item) => item.id === id)
    expect(items).toHaveLength(7)
    const [job] = await queryAt(
      url,
      `select ceil(extract(epoch from start_after) * 1000)::float as at from pgboss.job where id = '${ids.later}'`,
    )
    expect(found(ids.now)).toMatchObject({ topic: 'mail', state: 'ready', attempt: 0, priority: 1 })
    expect(JSON.parse(found(ids.now)?.body ?? '')).toEqual({ n: 5, text: 'ä"\u2028' })
    expect(found(ids.later)).toMatchObject({ state: 'delayed', dueAt: job?.['at'], priority: 0 })
    expect(found(ids.low)).toMatchObject({ state: 'delayed', priority: 2 })
    expect(found(ids.empty)).toMatchObject({ topic: 'invoice', body: 'null' })
    expect(found(ids.retry)).toMatchObject({ topic: 'mail', attempt: 1, error: 'smtp down' })
    expect(found(ids.failed)).toMatchObject({ topic: 'invoice', state: 'dead', attempt: 1, error: 'boom' })
    expect(decodePolicy(found(ids.retry)?.meta ?? '')).toMatchObject({
      timeoutMs: 90_000,
      retry: { limit: 5, waits: { baseMs: 120_000, factor: 2, jitter: 0.5 } },
    })
    expect(decodePolicy(found(ids.empty)?.meta ?? '')).toMatchObject({ retry: { limit: 2, waits: [5_000] } })
    expect(await queue.schedules.get('report')).toMatchObject({
      topic: 'report',
      cron: '0 3 * * *',
      zone: 'Europe/Berlin',
      payload: { day: 1 },
    })
    if (version === 12)
      expect(await queue.schedules.get('report:often')).toMatchObject({
        cron: '*/5 * * * *',
        zone: 'UTC',
      })
    const timeoutOf = async (name: string): Promise<number | undefined> => {
      const schedule = await readSchedule(await insidesOf(queue).open(), name)
      return decodePolicy(schedule?.plan.meta ?? '')?.timeoutMs
    }
    expect(await timeoutOf('report')).toBe(900_000)
    if (version === 12) expect(await timeoutOf('report:often')).toBe(120_000)
    expect(await place.json(words(url))).toMatchObject({ imported: 0, present: report.imported })
    const schemas = (): Promise<unknown> => queryAt(url, 'select nspname from pg_namespace order by 1')
    const schemasBefore = await schemas()
    expect(await place.json(words(url, '--dry-run', '--store', url))).toEqual({ ...report, dryRun: true })
    expect(await schemas()).toEqual(schemasBefore)
    const taking = await place.run(words(url, '--cancel'))
    expect(taking.stderr).toContain('failed jobs and schedules are not cancelled there')
  })

  it('P2: with --cancel, beside producers and workers of pg-boss, each job runs once: here or there', async () => {
    const url = await database()
    const queue = open(url)
    const ran: string[] = []
    queue.handle('stream', ({ id }) => void ran.push(id))
    await queue.start()
    const producers = new AbortController()
    const workers = new AbortController()
    const sent = sendPgBoss(version, url, producers.signal, { delayS: 0 })
    await until('jobs are there', async () => (await waiting(url)) > 0)
    const ranThere = workPgBoss(version, url, workers.signal)
    const place = await makePlace(undefined, undefined, PlaceHere)
    const importing = (): Promise<unknown> => place.json(words(url, '--cancel', '--store', url))
    await importing()
    await importing()
    producers.abort()
    const ids = await sent
    workers.abort()
    const there = await ranThere
    await importing()
    await until('all ran', () => ran.length + there.length >= ids.length)
    expect([...ran, ...there].toSorted()).toEqual([...ids].toSorted())
    expect(ran.length).toBeGreaterThan(0)
    expect(await importing()).toMatchObject({ imported: 0, present: 0 })
  })

  it('killed in the middle, the same call brings and cancels the rest', async () => {
    const url = await database()
    const queue = open(url)
    const count = 2_000
    await writeManyPgBoss(version, url, count)
    const place = await makePlace(undefined, undefined, PlaceHere)
    const counted = async (): Promise<number> => (await queue.stats()).counts.delayed
    const running = place.start(words(url, '--cancel', '--store', url))
    while ((await counted()) === 0 && running.child.exitCode === null);
    running.signal('SIGKILL')
    await running.ended
    await place.json(words(url, '--cancel', '--store', url))
    expect(await counted()).toBe(count)
    const states = await queryAt(url, 'select state, count(*)::int as n from pgboss.job group by 1')
    expect(states).toEqual([{ state: 'cancelled', n: count }])
  })
})

describe('the statement of the guide, Graphile Worker', () => {
  it('hands jobs over that wait, and nothing else', async () => {
    const url = await database()
    const queue = open(url)
    await queue.stats()
    const { now, later, laterAt, failed } = await writeGraphile(url)
    const statement = await statementOfGuide('graphile-worker')
    expect(await queryAt(url, statement)).toHaveLength(2)
    expect(await queue.get(`graphile-${now}`)).toMatchObject({
      topic: 'mail',
      payload: { n: 1, text: 'ä"\u2028' },
      state: 'ready',
    })
    const found = await queue.get(`graphile-${later}`)
    expect(found).toMatchObject({ topic: 'report', payload: { n: 2 }, state: 'delayed' })
    expect(Number(found?.dueAt)).toBeGreaterThanOrEqual(laterAt)
    expect(Number(found?.dueAt)).toBeLessThan(laterAt + 1_000)
    expect(await queryAt(url, statement)).toEqual([])
    expect(await queryAt(url, 'select id::text from graphile_worker._private_jobs')).toEqual([{ id: failed }])
  })
})

describe('a wrong call', () => {
  it('is refused with what to do', async () => {
    const place = await makePlace(undefined, undefined, PlaceHere)
    const url = await database()
    const call = (...more: string[]): Promise<unknown> => place.run(['import', ...more])
    expect(await call('pg-boss', '--postgres', url)).toMatchObject({
      stderr: expect.stringContaining('there is no pg-boss in the schema pgboss; name its schema') as string,
    })
    expect(await call('pg-boss')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--postgres URL is missing') as string,
    })
    expect(await call('pg-boss', '--postgres', url, '--priorities', '1,2')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--priorities is not for pg-boss') as string,
    })
    await queryAt(url, 'create schema old; create table old.version (version int)')
    await queryAt(url, 'insert into old.version values (20)')
    expect(await call('pg-boss', '--postgres', url, '--prefix', 'old')).toMatchObject({
      stderr: expect.stringContaining('is of a pg-boss before 10 (version 20)') as string,
    })
  })
})

describe('rights', () => {
  it('those that the guide names are enough, and one that is missing is told', async () => {
    const url = await database()
    await writePgBoss(12, url)
    const tables = ['version', 'job', 'queue', 'schedule'].map((table) => `pgboss.${table}`).join(', ')
    await queryAt(url, 'create role reader login; grant usage on schema pgboss to reader')
    await queryAt(url, `grant select on ${tables} to reader`)
    const reader = new URL(url)
    reader.username = 'reader'
    const place = await makePlace(undefined, undefined, PlaceHere)
    expect(await place.json(words(reader.href))).toMatchObject({ imported: 8, schedules: 2 })
    expect(await place.run(words(reader.href, '--cancel'))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the user of --postgres lacks a right on the schema pgboss') as string,
    })
    await queryAt(url, 'grant update on pgboss.job to reader')
    expect(await place.json(words(reader.href, '--cancel'))).toMatchObject({ imported: 0, present: 8 })
    expect(await place.json(words(reader.href, '--cancel'))).toMatchObject({ imported: 0, present: 1 })
  })
})

/** None while the schema is being made. */
async function waiting(url: string): Promise<number> {
  const rows = await queryAt(url, 'select 1 from pgboss.job').catch(() => [])
  return rows.length
}
