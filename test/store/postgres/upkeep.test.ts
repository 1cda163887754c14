/** A process that has settled many messages vacuums by itself, where it may; and is patient where that does not help. */
import pg from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { systemRandom } from '../../../src/random.ts'
import { FunctionCalls } from '../../../src/store/postgres/calls.ts'
import { PostgresLink } from '../../../src/store/postgres/link/postgres-link.ts'
import { Upkeep } from '../../../src/store/postgres/upkeep.ts'
import { until } from '../redis/until.ts'
import { PostgresServer } from './server.ts'
import { storeAt } from './stores.ts'

const DEAD = 160_000
const SETTLED = 60_000

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start({ settings: ['fsync = off', 'autovacuum = off'] })
  const store = storeAt(server.url)
  await store.open()
  await store.close()
})
afterAll(() => server?.stop())

function upkeepOf(url: string): Upkeep {
  const shared = {
    urls: [url],
    allowed: [],
    server: 'here',
    name: 'punctual:test',
    schema: 'punctual',
    connectTimeoutMs: 5_000,
    callTimeoutMs: 5_000,
    clock: systemClock,
    random: systemRandom,
    logger: { warn: () => undefined, error: () => undefined },
  }
  const link = new PostgresLink(shared)
  const made = new Upkeep({ ...shared, calls: new FunctionCalls(link, { ...shared, isPrepared: true }) })
  onTestFinished(() => {
    made.close()
    link.close()
  })
  return made
}

async function makeDeadRows(): Promise<void> {
  await server.query(`insert into punctual.message (seq, due_at, produced_at, queue, priority, topic, id, meta, body)
    select n, n, n, 9, 1, 't', n::text, '', '' from generate_series(1, ${DEAD}) n`)
  await server.query('delete from punctual.message where queue = 9')
  await until('the server has counted them', async () => (await deadRows()) >= DEAD)
}

async function deadRows(): Promise<number> {
  const [row] = await server.query(
    "select pg_stat_get_dead_tuples('punctual.message'::regclass)::int as dead",
  )
  return Number(row?.['dead'])
}

async function vacuums(): Promise<number> {
  const [row] = await server.query("select pg_stat_get_vacuum_count('punctual.message'::regclass)::int as n")
  return Number(row?.['n'])
}

it('dead rows are taken away after many messages were settled, and not before', async () => {
  await makeDeadRows()
  const upkeep = upkeepOf(server.url)
  await server.query("insert into punctual.delta values (9, 't', 1, 0, 0)")
  upkeep.wrote(10)
  await until(
    'the counts were folded',
    async () => (await server.query('select 1 from punctual.delta')).length === 0,
  )
  expect(await vacuums()).toBe(0)
  upkeep.wrote(SETTLED)
  await until('they are gone', async () => (await deadRows()) < DEAD / 10)
  expect(await vacuums()).toBe(1)
})

it('a role that may not vacuum leaves it to autovacuum, and goes on', async () => {
  await makeDeadRows()
  const before = await vacuums()
  await server.query(`create role worker login; grant usage on schema punctual to worker;
    grant select, insert, update, delete on all tables in schema punctual to worker`)
  await server.query("insert into punctual.delta values (9, 't', 1, 0, 0)")
  const upkeep = upkeepOf(server.url.replace('postgres@', 'worker@'))
  upkeep.wrote(SETTLED)
  await until(
    'the counts were folded',
    async () => (await server.query('select 1 from punctual.delta')).length === 0,
  )
  expect(await vacuums()).toBe(before)
  expect(await deadRows()).toBeGreaterThan(DEAD / 2)
})

it('under an old transaction a vacuum does not help, and is not tried again and again', async () => {
  const holder = new pg.Client({ connectionString: server.url })
  await holder.connect()
  onTestFinished(() => holder.end())
  await server.query('vacuum punctual.message')
  await until('none are left of the test before', async () => (await deadRows()) === 0)
  await holder.query('begin isolation level repeatable read; select 1 from punctual.message limit 1')
  await makeDeadRows()
  const before = await vacuums()
  const upkeep = upkeepOf(server.url)
  upkeep.wrote(SETTLED)
  await until('it was tried', async () => (await vacuums()) > before)
  upkeep.wrote(SETTLED)
  await server.query("insert into punctual.delta values (9, 't', 1, 0, 0)")
  upkeep.wrote(1)
  await until(
    'the counts were folded again',
    async () => (await server.query('select 1 from punctual.delta')).length === 0,
  )
  expect(await vacuums()).toBe(before + 1)
})
