/**
 * P17: a limit of keys is set after the settlements that did not see it, or before those that do. Else a claim that obeys it could
 * see a message run whose settlement leaves no note, and its key would stand still.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Statement } from '../../../src/store/mysql/sql/statement.ts'
import type { Rows, Steps } from '../../../src/store/mysql/transactions.ts'
import { settleAcks } from '../../../src/store/mysql/verbs/write/acks.ts'
import { settle } from '../../../src/store/mysql/verbs/write/settling.ts'
import { flood, perKey } from '../../../src/testing/conformance/key-stand.ts'
import { claimDue, idsOf, retry } from '../../../src/testing/conformance/stand.ts'
import { until } from '../redis/until.ts'
import { connectionTo, isMariaDbThere, MysqlServer } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'

let server: MysqlServer
beforeAll(async () => {
  if (isMariaDbThere) server = await MysqlServer.start()
})
afterAll(async () => {
  await server?.stop()
})

describe.skipIf(!isMariaDbThere)('a settlement that is not committed yet', () => {
  it.each(['ack', 'retry'] as const)('of kind %s: the limit waits for it', async (kind) => {
    const store = storeAt(server.url, freshQueue())
    onTestFinished(() => store.close())
    await store.open()
    await store.put(flood('k', 2))
    const [lease] = await claimDue(store, 1)
    if (lease === undefined) throw new Error('nothing was handed out')
    const connection = await connectionTo(server.url)
    onTestFinished(() => connection.end())
    const send = async (...statements: readonly Statement[]): Promise<Rows[]> => {
      const replies: Rows[] = []
      for (const { text, values } of statements) {
        const reply: unknown = await connection.query(text, values)
        replies.push(Array.isArray(reply) ? (reply as Rows) : [])
      }
      return replies
    }
    await send(
      { text: 'set transaction isolation level read committed', values: [] },
      { text: 'begin', values: [] },
    )
    const [row] = await server.query('select queue from punctual_message where id = ? and token = ?', [
      lease.id,
      lease.token,
    ])
    const where = { queue: Number(row?.['queue']), at: null }
    const steps: Steps = { send, commit: send }
    if (kind === 'ack') await settleAcks(steps, where, new Map([[lease.token, [lease.id]]]))
    else await settle(steps, where, [retry(lease, 60_000)])
    const change = { isDone: false }
    const changed = store.control(perKey({ concurrency: 1 })).then(() => (change.isDone = true))
    await until('the change waits', async () => {
      const waiting = await server.query(
        "select 1 from information_schema.innodb_trx where trx_state = 'LOCK WAIT'",
      )
      return waiting.length > 0 || change.isDone
    })
    expect(change.isDone).toBe(false)
    await connection.query('commit')
    await changed
    expect(idsOf(await claimDue(store))).toEqual(['k-1'])
  })
})
