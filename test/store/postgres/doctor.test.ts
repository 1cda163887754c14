/** What the doctor says of a PostgreSQL: asked of a real one; what takes hours or harm to come about is put into its answer. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { Finding, Store } from '../../../src/store/contract/store.ts'
import { examine, type ExamineOptions } from '../../../src/store/postgres/doctor.ts'
import { SCHEMA_VERSION } from '../../../src/store/postgres/migration.ts'
import { message } from '../../../src/testing/conformance/stand.ts'
import { until } from '../redis/until.ts'
import { PostgresDatabase } from './server.ts'
import { storeAt } from './stores.ts'

let server: PostgresDatabase
let store: Store
beforeAll(async () => {
  server = await PostgresDatabase.make()
  store = storeAt(server.url)
  await store.open()
  await store.put([message('a')])
})
afterAll(async () => {
  await store?.close()
})

type Put = Readonly<Record<string, unknown>>

/** `facts`, `holder`: instead of what the server says. */
async function look(facts: Put, given: Partial<ExamineOptions> = {}, holder?: Put): Promise<Finding[]> {
  const query = async (text: string): Promise<unknown> => {
    if (text.includes('pg_prepared_xacts')) return holder === undefined ? server.query(text) : [holder]
    return (await server.query(text)).map((row) => ({ ...row, ...facts }))
  }
  return examine({
    query,
    clock: systemClock,
    schema: 'punctual',
    server: 'here',
    isPooled: false,
    isReplicated: false,
    hearing: 'hears',
    ...given,
  })
}

it('finds nothing wrong with a server as it comes', async () => {
  store.onWake(() => undefined)
  await until('the echo came back', async () =>
    (await store.doctor()).some(({ what }) => what === 'wake-ups arrive'),
  )
  const findings = await store.doctor()
  expect(findings.filter(({ level }) => level !== 'fine')).toEqual([])
  const texts = findings.map(({ what }) => what).join('\n')
  for (const part of [
    /PostgreSQL \d+/,
    /on the disk \(synchronous_commit = on\)/,
    /\d rows of messages, schedules and remembered ids, \d+ dead/,
    /the clocks of server and client agree/,
  ])
    expect(texts).toMatch(part)
})

it.each<[string, Put, Partial<ExamineOptions>, Finding['level'], RegExp]>([
  ['a standby', { is_standby: true }, {}, 'problem', /takes no writes/],
  ['fsync', { fsync: 'off' }, {}, 'problem', /fsync is off/],
  ['full_page_writes', { full_page_writes: 'off' }, {}, 'warning', /full_page_writes/],
  ['synchronous_commit', { level: 'off' }, {}, 'warning', /can lose acknowledged messages/],
  [
    'no standby though replicated',
    { standbys: '' },
    { isReplicated: true },
    'problem',
    /no synchronous standby/,
  ],
  ['an older schema', { schema_version: SCHEMA_VERSION - 1 }, {}, 'warning', /the schema has version/],
  ['a right that is missing', { rights: ['update'] }, {}, 'problem', /may not update/],
  ['dead rows', { dead: 5_000_000, live: 3 }, {}, 'warning', /5000000 dead rows/],
  ['counts that nobody folds', { deltas: 200_000 }, {}, 'warning', /not folded/],
  ['a full queue of notifications', { notifications: 0.8 }, {}, 'problem', /80 % full/],
  ['no echo', {}, { hearing: 'deaf' }, 'warning', /wake-ups do not arrive \(no echo\)/],
  ['a pooler', {}, { hearing: 'deaf', isPooled: true }, 'warning', /a pooler in transaction mode/],
  ['a clock that is off', { now_ms: Date.now() + 60_000 }, {}, 'warning', /ahead of this machine/],
])('%s', async (_name, facts, given, level, what) => {
  const found = (await look(facts, given)).find((finding) => what.test(finding.what))
  expect(found).toMatchObject({ level })
  expect(found?.remedy).toBeTruthy()
})

it('names who holds the oldest transaction', async () => {
  const findings = await look({}, {}, { pid: 77, what: 'a transaction of report', age_s: 4_000 })
  expect(findings.map(({ what }) => what).join('\n')).toContain(
    'a transaction of report (pid 77) is open for 4000 s',
  )
})

/** As if the schema were another one. */
const queryNowhere = async (text: string): Promise<unknown> =>
  text.includes('pg_prepared_xacts')
    ? []
    : server.query(
        text
          .replace('(select max(version) from "punctual".migration)', '0')
          .replaceAll('"punctual"', '"nowhere"'),
      )

it('a schema that is not there', async () => {
  expect(await look({}, { query: queryNowhere })).toMatchObject([
    { level: 'problem', remedy: 'run punctual migrate' },
  ])
})
