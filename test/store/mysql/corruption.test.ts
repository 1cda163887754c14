/**
 * Rows of MySQL and MariaDB changed behind the back.
 *
 *   PUNCTUAL_FUZZ_RUNS=500 npx vitest run test/store/mysql/corruption.test.ts      many more
 */
import { beforeAll } from 'vitest'
import { COLUMNS, corruption } from '../sql/corruption.ts'
import { freshDatabase, isMysqlThere, queryAt } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

let url = ''
beforeAll(async () => {
  if (isMysqlThere) url = await freshDatabase()
})

const TINY = ['-128', '-1', '7', '127']
const TEXTS = ["''", "'{'", "'null'", "'5'", "x'0178'", `'{"retry":5,"ttlMs":"x"}'`]

corruption({
  isMissing: !isMysqlThere,
  url: () => url,
  freshQueue,
  storeAt: (queue) => storeAt(url, queue),
  numberOf: async (queue) =>
    Number((await queryAt(url, 'select queue from punctual_queue where name = ?', [queue]))[0]?.['queue']),
  query: (text) => queryAt(url, text),
  messages: 'punctual_message',
  columns: {
    ...COLUMNS,
    priority: TINY,
    state: [...TINY, '0', '1', '2', '3'],
    lapses: ['-32768', '-1', '7', '32767'],
    is_taken: ['null', '1', '0', '-5'],
    is_cancelling: ['null', '1', '9'],
    topic: ["''", "'u'", "x'017363686564756c6573'", "x'ff'"],
    owner: ['null', "''", "'nobody'", "x'ff'"],
    meta: ['null', ...TEXTS],
    body: ['null', ...TEXTS],
    error: ['null', ...TEXTS],
    reason: ['null', ...TEXTS],
    tags: ['null', "''", "'all'", "'\n\nx'"],
  },
  elsewhere: [
    "insert into punctual_delta (queue, topic, waiting, running, dead) values (QUEUE, 't', -2147483648, 5, -5)",
    "insert ignore into punctual_total values (QUEUE, 't', -5, 9000000000000000000, 0)",
    "insert into punctual_worker values (QUEUE, 'ghost', '{', -1, 9000000000000000000, null)",
    "insert into punctual_figure values (QUEUE, 0, 't', -1, 0, 0, 0, '5')",
    "insert ignore into punctual_control values (QUEUE, 't', '5')",
    `insert ignore into punctual_control values (QUEUE, 'u', '{"limit":5,"over":"x","pausedUntil":[]}')`,
    'delete from punctual_revision where queue = QUEUE',
    "insert into punctual_tag values (QUEUE, 'all', 'nobody')",
    "update punctual_bell set number = 9000000000000000000, ring = '{' where queue = QUEUE",
  ],
})
