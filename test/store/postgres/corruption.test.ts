/**
 * Rows of PostgreSQL changed behind the back.
 *
 *   PUNCTUAL_FUZZ_RUNS=500 npx vitest run test/store/postgres/corruption.test.ts      many more
 */
import { beforeAll } from 'vitest'
import { COLUMNS, corruption } from '../sql/corruption.ts'
import { PostgresDatabase } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

let server: PostgresDatabase
beforeAll(async () => {
  server = await PostgresDatabase.make()
})

const SMALL = ['-32768', '-1', '7', '32767']
const TEXTS = ["''", "'{'", "'null'", "'5'", "E'\\x01x'", `'{"retry":5,"ttlMs":"x"}'`]

corruption({
  isMissing: false,
  url: () => server.url,
  freshQueue,
  storeAt: (queue) => storeAt(server.url, queue),
  numberOf: async (queue) =>
    Number((await server.query('select queue from punctual.queue where name = $1', [queue]))[0]?.['queue']),
  query: (text) => server.query(text),
  messages: 'punctual.message',
  columns: {
    ...COLUMNS,
    seq: COLUMNS.due_at,
    priority: SMALL,
    state: [...SMALL, '0', '1', '2', '3'],
    lapses: SMALL,
    is_taken: ['null', 'true', 'false'],
    is_cancelling: ['null', 'true'],
    topic: ["''", "'u'", "E'\\x01schedules'"],
    owner: ['null', "''", "'nobody'"],
    meta: TEXTS,
    body: TEXTS,
    error: ['null', ...TEXTS],
    reason: ['null', ...TEXTS],
    tags: ['null', "'{}'", "'{NULL,x}'", "array['all']"],
  },
  elsewhere: [
    "insert into punctual.delta values (QUEUE, 't', -2147483648, 5, -5)",
    "insert into punctual.total values (QUEUE, 't', -5, 9000000000000000000, 0) on conflict do nothing",
    "insert into punctual.worker values (QUEUE, 'ghost', '{', -1, 9000000000000000000, null)",
    "insert into punctual.figure values (QUEUE, 0, 't', -1, 0, 0, 0, '5')",
    `insert into punctual.control values (QUEUE, 't', '5') on conflict do nothing`,
    `insert into punctual.control values (QUEUE, 'u', '{"limit":5,"over":"x","pausedUntil":[]}') on conflict do nothing`,
    'delete from punctual.control_revision where queue = QUEUE',
  ],
})
