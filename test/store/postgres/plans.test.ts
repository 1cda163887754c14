/**
 * P10: no plan depends on statistics. Every statement inside the functions of the runtime goes through an index, on a
 * table that the server believes empty and that is full, and the other way round.
 */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../../src/store/contract/store.ts'
import { claimDue, message, retry } from '../../../src/testing/conformance/stand.ts'
import { PostgresServer } from './server.ts'
import { storeAt } from './stores.ts'

const QUEUE = 'plans'
const TOPICS = ['a', 'b', 'c']

let server: PostgresServer
let store: Store
beforeAll(async () => {
  server = await PostgresServer.start({
    settings: ["session_preload_libraries = 'auto_explain'", 'autovacuum = off'],
  })
  store = storeAt(server.url, QUEUE)
  await store.open()
})
afterAll(async () => {
  await store?.close()
  await server?.stop()
})

/** The plans of all statements that a call runs inside the server. */
async function plansOf(call: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: server.url })
  const plans: string[] = []
  client.on('notice', ({ message: text = '' }) => {
    if (text.includes('plan:')) plans.push(text)
  })
  await client.connect()
  await client.query(`set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
    set client_min_messages = log; begin`)
  await client.query(call)
  await client.query('rollback')
  await client.end()
  return plans
}

async function numberOfQueue(): Promise<number> {
  const [row] = await server.query('select queue from punctual.queue where name = $1', [QUEUE])
  return Number(row?.['queue'])
}

const CALLS: readonly (readonly [string, (queue: number) => string])[] = [
  [
    'put',
    (
      q,
    ) => `select * from punctual.put_1(${q}, null, array['x', 'y'], array['a', 'b'], array[1, 1]::smallint[],
      array[5, 5]::bigint[], array[null, null]::bigint[], array['', ''], array['1', '2'], '{}', '{}', array[0, 0]::smallint[], '{}',
      true, false, null)`,
  ],
  [
    'put that replaces',
    (
      q,
    ) => `select * from punctual.put_1(${q}, null, array['m1', 'm2'], array['a', 'b'], array[1, 1]::smallint[],
      array[5, 5]::bigint[], array[null, null]::bigint[], array['', ''], array['1', '2'], '{}', '{}', array[1, 1]::smallint[], '{}',
      false, false, null)`,
  ],
  [
    'claim due',
    (
      q,
    ) => `select * from punctual.claim_due_2(${q}, null, 'w', null, false, array['a', 'b', 'c'], array[50, 50, 50],
      array[0, 0, 0]::bigint[], 100, 1000000, 1000000, array[0, 0, 0]::bigint[], 77, null, '{}', 0, '{}', '{}', '{}', '{}',
      '{}', '{}', '{}', '{}', '{}')`,
  ],
  [
    'claim lapsed',
    (q) => `select * from punctual.claim_lapsed_2(${q}, null, 'w', 100, 1000000, 1000000, 78)`,
  ],
  [
    'extend',
    (q) =>
      `select punctual.extend_1(${q}, null, array(select id from punctual.message where token = 5), array[5], 1000)`,
  ],
  [
    'settle',
    (q) => `select * from punctual.settle_1(${q}, null, array['m1', 'm2', 'm3'], array[5, 5, 5],
      array[0, 1, 4]::smallint[], array[0, 5, 0], array['', 'e', ''], array['', '', ''], '{}', '{}', '{}', false)`,
  ],
  ['remove', (q) => `select punctual.remove_1(${q}, null, array['m7', 'm8'], 0::smallint, false, false)`],
  [
    'reschedule',
    (q) =>
      `select * from punctual.reschedule_1(${q}, null, array['m7'], array[5]::bigint[], array[null]::bigint[], false, null)`,
  ],
  [
    'put of keys',
    (
      q,
    ) => `select * from punctual.put_1(${q}, null, array['kx', 'ky'], array['k', 'k'], array[1, 1]::smallint[],
      array[5, 5]::bigint[], array[null, null]::bigint[], array['', ''], array['1', '2'], '{}', '{}', array[0, 0]::smallint[], '{}',
      true, false, null, array['customer-1', 'customer-2'])`,
  ],
  [
    'claim of keys',
    (
      q,
    ) => `select * from punctual.claim_due_2(${q}, null, 'w', null, false, array['k'], array[50], array[0]::bigint[], 100,
      1000000, 1000000, array[0]::bigint[], 79, null, array[false], 0, '{}', '{}', '{}', '{}', '{}', array[1],
      array[1000]::float8[], array[5], array[true])`,
  ],
  [
    'settle of keys',
    (q) => `select * from punctual.settle_1(${q}, null, array['k1', 'k2', 'k3'], array[5, 5, 5],
      array[0, 1, 4]::smallint[], array[0, 5, 0], array['', 'e', ''], array['', '', ''], '{}', '{}', '{}', false)`,
  ],
  ['keys', (q) => `select * from punctual.key_states_1(${q}, null, 'k', null, '', 50)`],
  [
    'list of a key',
    (q) =>
      `select * from punctual.inspect_waiting_1(${q}, 0, 9000000000000000000, 'k', null, null, 50, null, 'customer-1')`,
  ],
  ['owned', (q) => `select * from punctual.owned_1(${q}, 'w', 0, 0)`],
  [
    'list',
    (q) =>
      `select * from punctual.inspect_waiting_1(${q}, 0, 9000000000000000000, null, null, null, 50, null)`,
  ],
  [
    'list by tag',
    (q) =>
      `select * from punctual.inspect_tag_1(${q}, 't', null, null, null, null, '', null, null, 50, null)`,
  ],
]

/** A whole table read, or a plan that was not pinned. */
const WALK = /Seq Scan on (?:punctual\.)?(?:message|turn|note|key_limit)/

async function expectIndexes(): Promise<void> {
  const queue = await numberOfQueue()
  for (const [name, call] of CALLS) {
    const plans = await plansOf(call(queue))
    const own = plans.filter((plan) => !plan.includes('token = 5')) // The test's own look.
    expect(own.length, `${name}: plans were seen`).toBeGreaterThan(0)
    // Two lists of a thousand, each compared with each, would be a million comparisons.
    expect(
      own.filter((plan) => plan.includes('Join Filter')),
      name,
    ).toEqual([])
    expect(
      own.filter((plan) => WALK.test(plan)),
      name,
    ).toEqual([])
  }
}

describe('every statement goes through an index', () => {
  it('on an empty table', async () => {
    await store.put([message('first', { topic: 'a' })])
    await store.remove(['first'], 'waiting')
    await server.query('analyze punctual.message')
    await expectIndexes()
  })

  it('on a table that is full, and believed empty', async () => {
    for (let i = 0; i < 6; i += 1) {
      await store.put(
        Array.from({ length: 1000 }, (_, n) => message(`m${i * 1000 + n}`, { topic: TOPICS[n % 3] ?? '' })),
      )
    }
    await claimDue(store, 300, TOPICS)
    await store.put(
      Array.from({ length: 1000 }, (_, n) => message(`k${n}`, { topic: 'k', key: `customer-${n % 500}` })),
    )
    await claimDue(store, 300, ['k'])
    await expectIndexes()
  })

  it('claims: of the index that is made for them, and by the places of the rows', async () => {
    const [, claim] = CALLS.find(([name]) => name === 'claim due') ?? ['', () => '']
    const plans = (await plansOf(claim(await numberOfQueue()))).join('\n')
    for (const step of ['message_due', 'Tid Scan']) expect(plans).toContain(step)
  })

  it('claims of keys: a key by its own index, and not by that which is made for people', async () => {
    const [, claim] = CALLS.find(([name]) => name === 'claim of keys') ?? ['', () => '']
    const plans = (await plansOf(claim(await numberOfQueue()))).join('\n')
    for (const step of [
      'message_key ',
      'message_key_runs',
      'message_holding',
      'turn_line',
      'note_at',
      'Tid Scan',
    ])
      expect(plans).toContain(step)
    for (const step of ['message_keyed', 'turn_held']) expect(plans).not.toContain(step)
  })

  it('on a table that is full, with fresh statistics', async () => {
    await server.query('analyze punctual.message, punctual.turn, punctual.note')
    await expectIndexes()
  })

  it('on a table that is empty, and believed full', async () => {
    for (;;) {
      const leases = await claimDue(store, 1000, TOPICS)
      if (leases.length === 0) break
      await store.settle(leases.map((lease) => ({ ...lease, kind: 'ack' })))
    }
    await server.query('vacuum punctual.message')
    await expectIndexes()
  })
})

/** How many blocks of tables and indexes one claim touches. */
async function blocksOfClaim(queue: number, floor: number): Promise<number> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  let rows: readonly { readonly 'QUERY PLAN': string }[] = []
  // Twice: the first call of a session reads the server's catalogues.
  for (let i = 0; i < 2; i += 1) {
    await client.query('begin')
    const result = await client.query<{ 'QUERY PLAN': string }>(
      `explain (analyze, buffers) select * from punctual.claim_due_2(${queue}, null, 'w', null, false, array['a'],
        array[10], array[${floor}]::bigint[], 10, 1000000, 1000000, array[0]::bigint[], 77, null, '{}', 0, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')`,
    )
    rows = result.rows
    await client.query('rollback')
  }
  await client.end()
  const text = rows.map((row) => row['QUERY PLAN']).join('\n')
  return Number(/shared hit=(\d+)/.exec(text)?.[1] ?? 0) + Number(/ read=(\d+)/.exec(text)?.[1] ?? 0)
}

it('P10: under a transaction that somebody forgot, a claim from the floor steps over nothing', async () => {
  const holder = new pg.Client({ connectionString: server.url })
  await holder.connect()
  await holder.query('begin isolation level repeatable read')
  await holder.query('select count(*) from punctual.message')
  try {
    for (let i = 0; i < 6; i += 1) {
      await store.put(Array.from({ length: 1000 }, (_, n) => message(`h${i}.${n}`, { topic: 'a' })))
      const leases = await claimDue(store, 1000, ['a'])
      await store.settle(leases.map((lease) => ({ ...lease, kind: 'ack' })))
    }
    await store.put([message('last', { topic: 'a' })])
    const queue = await numberOfQueue()
    const [row] = await server.query("select due_at from punctual.message where id = 'last'")
    const fromStart = await blocksOfClaim(queue, 0)
    const fromFloor = await blocksOfClaim(queue, Number(row?.['due_at']) - 1)
    expect(fromFloor).toBeLessThan(fromStart / 4)
  } finally {
    await holder.end()
  }
})

it('a retry is settled by its token alone', async () => {
  await store.put([message('one', { topic: 'a' })])
  const [lease] = await claimDue(store, 1, ['a'])
  if (lease === undefined) throw new Error('nothing was handed out')
  expect(await store.settle([retry({ ...lease, token: '1' }, 5), retry(lease, 5)])).toEqual([
    'lost',
    'settled',
  ])
})
