/**
 * A lock that is none: the functions of the server are changed so that they lock nothing when they choose what to lease, as servers do
 * that take SKIP LOCKED and ignore it. What somebody else takes in that moment is not started a second time.
 */
import { expect, onTestFinished, test } from 'vitest'
import pg from 'pg'
import type { Lease, Store } from '../../../src/store/contract/store.ts'
import { claimDue, claimLapsed, message } from '../../../src/testing/conformance/stand.ts'
import { until } from '../redis/until.ts'
import { PostgresDatabase } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

const CHOOSING = ['claim_due_2', 'claim_lapsed_2', 'claim_turns_1']
/** Now, by the server's clock, and in a minute. */
const NOW = '(extract(epoch from clock_timestamp()) * 1000000)::bigint'
const LATER = `${NOW} + 60000000`

type Scene = { readonly store: Store; readonly database: PostgresDatabase; readonly other: pg.Client }

async function withoutLocks(): Promise<Scene> {
  const database = await PostgresDatabase.make()
  const store = storeAt(database.url, freshQueue())
  onTestFinished(() => store.close())
  await store.open()
  for (const name of CHOOSING) {
    const [row] = await database.query(
      'select pg_get_functiondef(oid) as text from pg_proc where proname = $1',
      [name],
    )
    const text = String(row?.['text'])
    expect(text).toContain('for update skip locked')
    await database.query(text.replaceAll('for update skip locked', ''))
  }
  const other = new pg.Client({ connectionString: database.url })
  await other.connect()
  onTestFinished(() => other.end())
  return { store, database, other }
}

/** Another worker takes every message, and commits when the claim that is given waits for it. */
async function whileTaken(
  { database, other }: Scene,
  claiming: () => Promise<readonly Lease[]>,
): Promise<readonly Lease[]> {
  await other.query('begin')
  await other.query(
    `update punctual.message set state = 1, owner = 'other', token = 4711, leased_at = ${NOW}, until = ${LATER}`,
  )
  const claimed = claiming()
  await until('the claim waits for the row that it chose', async () => {
    const waiting = await database.query(
      "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    )
    return waiting.length === 1
  })
  await other.query('commit')
  return claimed
}

test('P3: what another worker took meanwhile is not handed out', async () => {
  const scene = await withoutLocks()
  await scene.store.put([message('a'), message('b')])
  expect(await whileTaken(scene, () => claimDue(scene.store))).toEqual([])
  expect(await scene.database.query('select distinct owner from punctual.message')).toEqual([
    { owner: 'other' },
  ])
})

test('P3: nor is one with a key', async () => {
  const scene = await withoutLocks()
  await scene.store.put([message('a', { key: 'k' }), message('b', { key: 'l' })])
  expect(await whileTaken(scene, () => claimDue(scene.store))).toEqual([])
  expect(await scene.database.query('select distinct owner from punctual.message')).toEqual([
    { owner: 'other' },
  ])
})

test('P4: a lease that its owner extended meanwhile is not taken over', async () => {
  const scene = await withoutLocks()
  await scene.store.put([message('a')])
  await claimDue(scene.store)
  await scene.database.query('update punctual.message set until = 1')
  expect(await whileTaken(scene, () => claimLapsed(scene.store))).toEqual([])
  expect(await scene.database.query('select distinct owner from punctual.message')).toEqual([
    { owner: 'other' },
  ])
})
