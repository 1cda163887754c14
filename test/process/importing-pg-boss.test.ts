/** What docs/guides/migrating-from-pg-boss.md shows, with real jobs of pg-boss 10 and 12. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { sendPgBoss, writePgBoss } from '../../migrating/write.mjs'
import { Punctual } from '../../src/index.ts'
import { PostgresServer, queryAt } from '../store/postgres/server.ts'
import { until } from '../store/redis/until.ts'

const GUIDE = join(import.meta.dirname, '../../docs/guides/migrating-from-pg-boss.md')

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start({ settings: ['fsync = off'] })
})
afterAll(() => server?.stop())

/** A database of its own, so that both versions find the schema that they know. */
async function database(name: string): Promise<string> {
  await server.query(`create database ${name}`)
  return server.url.replace(/postgres$/, name)
}

function open(url: string): Punctual {
  const queue = new Punctual({ store: url, logger: false })
  onTestFinished(async () => void (await queue.stop()))
  return queue
}

async function statementOfGuide(): Promise<string> {
  const [, statement = ''] = /```sql\n([^`]*)```/.exec(await readFile(GUIDE, 'utf8')) ?? []
  return statement
}

describe.each([10, 12] as const)('the statement of the guide, pg-boss %i', (version) => {
  it('hands jobs over that wait, with their ids and moments, and nothing else', async () => {
    const url = await database(`states_${version}`)
    const queue = open(url)
    await queue.stats()
    const ids = await writePgBoss(version, url)
    const statement = await statementOfGuide()
    const moved = await queryAt(url, statement)
    // With those in the list the copy in the dead letter queue, and of a flow the job that is first.
    expect(moved).toHaveLength(version === 10 ? 7 : 8)
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
    expect(await queryAt(url, `select name from pgboss.job where state < 'active'`)).toEqual(
      version === 10 ? [] : [{ name: 'child' }],
    )
  })

  it('P2: loses nothing that is committed while it runs', async () => {
    const url = await database(`stream_${version}`)
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

/** None while the schema is being made. */
async function waiting(url: string): Promise<number> {
  const rows = await queryAt(url, 'select 1 from pgboss.job').catch(() => [])
  return rows.length
}
