/** What keys cost a server: nothing where there are none (P18), and no more with many keys or long lines. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Store } from '../../../src/store/contract/store.ts'
import { flood, keyed, perKey } from '../../../src/testing/conformance/key-stand.ts'
import { TOPIC, claim, claimDue, message, retry } from '../../../src/testing/conformance/stand.ts'
import { deleteKeyed } from '../../../src/store/mysql/verbs/keys/changes.ts'
import { deleteTurns } from '../../../src/store/mysql/verbs/keys/turns.ts'
import type { Statement } from '../../../src/store/mysql/sql/statement.ts'
import type { Rows, Steps } from '../../../src/store/mysql/transactions.ts'
import { takeAtOnce } from '../../../src/store/mysql/verbs/claim/due.ts'
import type { DueTerms } from '../../../src/store/mysql/verbs/claim/picking.ts'
import { settleAcks } from '../../../src/store/mysql/verbs/write/acks.ts'
import { reschedule } from '../../../src/store/mysql/verbs/write/changing.ts'
import { put, putPlain } from '../../../src/store/mysql/verbs/write/putting.ts'
import { settle } from '../../../src/store/mysql/verbs/write/settling.ts'
import { deleteRows } from '../../../src/store/mysql/verbs/write/locked-row.ts'
import { connectionTo, isMariaDbThere, MysqlServer, queryAt } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

let server: MysqlServer
beforeAll(async () => {
  if (isMariaDbThere) server = await MysqlServer.start()
})
afterAll(async () => {
  await server?.stop()
})

async function open(): Promise<Store> {
  const store = storeAt(server.url, freshQueue())
  onTestFinished(() => store.close())
  await store.open()
  return store
}

/** Of the whole server, on which nothing else happens. */
async function counted(names: string, work: () => Promise<unknown>): Promise<number> {
  const sum = async (): Promise<number> => {
    const rows = await queryAt(server.url, `show global status where variable_name regexp '${names}'`)
    return rows.reduce((all, row) => all + Number(row['Value']), 0)
  }
  const before = await sum()
  await sum()
  const own = (await sum()) - before
  const start = await sum()
  await work()
  return (await sum()) - start - own / 2
}

const ENTRIES = '^Handler_(read_key|read_next|read_prev|read_first|read_last)$'

describe.skipIf(!isMariaDbThere)('what keys cost', () => {
  it('P18: a claim reads no more behind 20,000 messages of a key that is busy', async () => {
    const store = await open()
    await store.control(perKey({ concurrency: 1 }))
    for (let i = 0; i < 20; i += 1)
      await store.put(flood(`k`, 1_000).map((one, n) => ({ ...one, id: `${i}.${n}` })))
    expect(await claimDue(store, 10)).toHaveLength(1)
    await claim(store, {})
    const read = await counted(ENTRIES, () => claim(store, {}))
    expect(read).toBeLessThan(200)
  })

  it('P18: nor with 1,000 keys that are busy', async () => {
    const store = await open()
    await store.control(perKey({ concurrency: 1 }))
    for (const round of ['a', 'b'])
      await store.put(Array.from({ length: 1_000 }, (_, n) => keyed(`${round}${n}`, `key-${n}`)))
    expect(await claimDue(store, 1_000)).toHaveLength(1_000)
    await claim(store, {})
    const read = await counted(ENTRIES, () => claim(store, {}))
    expect(read).toBeLessThan(200)
  })

  it('P18: pages of keys are read from key to key, not over what waits of them', async () => {
    const store = await open()
    for (const key of ['flood', 'more'])
      for (let i = 0; i < 3; i += 1)
        await store.put(flood(key, 1_000).map((one, n) => ({ ...one, id: `${key}.${i}.${n}` })))
    const read = await counted(ENTRIES, () => store.keys({ topic: TOPIC, limit: 1 }))
    // Of one key up to 1,000 are counted.
    expect(read).toBeLessThan(1_300)
  })

  it('P18: messages without a key have the indexes that they had, and need as many statements', async () => {
    const store = await open()
    await store.put([message('first', { topic: 'own' })])
    const rows = await queryAt(
      server.url,
      `select distinct index_name as name from information_schema.statistics
        where table_schema = database() and table_name = 'punctual_message' order by index_name`,
    )
    expect(rows.map(({ name }) => name)).toEqual([
      'PRIMARY',
      'punctual_message_due',
      'punctual_message_id',
      'punctual_message_until',
    ])
    const connection = await connectionTo(server.url)
    onTestFinished(() => connection.end())
    let sent = 0
    const send = async (...statements: readonly Statement[]): Promise<Rows[]> => {
      sent += statements.length
      const replies: Rows[] = []
      for (const { text, values } of statements) {
        const reply: unknown = await connection.query(text, values)
        replies.push(Array.isArray(reply) ? (reply as Rows) : [])
      }
      return replies
    }
    const count = async (work: (steps: Steps) => Promise<unknown>): Promise<number> => {
      sent = 0
      await work({ send, commit: send })
      return sent
    }
    const where = { queue: 999, at: null }
    const tokens = {
      owner: 'w',
      topics: [TOPIC],
      limits: [1],
      limitAll: 1,
      leads: [0],
      bytesMax: 1e6,
      lease: 1e6,
    }
    const terms = (token: string): DueTerms => ({ ...tokens, token, isLimited: [], limitedAll: 0 })
    const heads = [{ topic: 0, rank: 1, at: 0 }]
    const counts = {
      put: await count((steps) => putPlain(steps, where, [message('a'), message('b')])),
      replace: await count((steps) => put(steps, where, [message('b', { ifExists: 'replace' })])),
      claim: await count((steps) => takeAtOnce(steps, where, terms('7'), { heads, isBehind: false }, [])),
      ack: await count((steps) => settleAcks(steps, where, new Map([['7', ['a']]]))),
      again: await count((steps) => takeAtOnce(steps, where, terms('8'), { heads, isBehind: false }, [])),
      retry: await count((steps) =>
        settle(steps, where, [retry({ id: 'b', topic: TOPIC, token: '8' }, 60_000)]),
      ),
      move: await count((steps) => reschedule(steps, where, [{ id: 'b', when: { delayMs: 5 } }])),
    }
    // As many as the version without keys sent.
    expect(counts).toEqual({ put: 5, replace: 5, claim: 7, ack: 4, again: 7, retry: 6, move: 5 })
  })

  it('rows are deleted by their keys, in short tables too: others may have locked the rest', async () => {
    const store = await open()
    await store.put(['a', 'b', 'c'].map((id) => keyed(id, id)))
    for (const { text, values } of [
      deleteRows([1, 2, 3]),
      deleteKeyed([1, 2, 3]),
      deleteTurns(1, 't', ['a', 'b'], 1),
    ]) {
      const plan = await queryAt(server.url, `explain ${text}`, [...values])
      const found = plan.filter(({ table }) => ['m', 'k', 'r'].includes(String(table)))
      expect(
        found.map(({ type }) => type),
        text,
      ).toEqual([expect.stringMatching(/eq_ref|const/)])
    }
  })
})
