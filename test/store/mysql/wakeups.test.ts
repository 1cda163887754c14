/** P9: who sleeps is woken by others through the server, and where that cannot be, looks often enough. */
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Store } from '../../../src/store/contract/store.ts'
import { openMysqlStore } from '../../../src/store/mysql/open.ts'
import type { MysqlSettings } from '../../../src/store/mysql/address/url.ts'
import { claim, message } from '../../../src/testing/conformance/stand.ts'
import { until } from '../redis/until.ts'
import { connectionTo, freshDatabase, isMysqlThere, queryAt } from './server.ts'
import { context, freshQueue } from './stores.ts'

let url = ''
beforeAll(async () => {
  if (isMysqlThere) url = await freshDatabase()
})

async function open(queue: string, settings: MysqlSettings = {}, log: string[] = []): Promise<Store> {
  const store = openMysqlStore(url, context(queue, undefined, log), settings)
  onTestFinished(() => store.close())
  await store.open()
  return store
}

/** A store that listens, and how often it was called. */
async function sleeper(
  queue: string,
  settings: MysqlSettings = {},
): Promise<{ store: Store; calls: string[] }> {
  const store = await open(queue, settings)
  const calls: string[] = []
  store.onWake(({ kind }) => calls.push(kind), 'me')
  return { store, calls }
}

async function hears(store: Store): Promise<void> {
  await until('wake-ups arrive', async () => whats(await store.doctor()).includes('wake-ups arrive'))
}

function whats(findings: readonly { readonly what: string }[]): string {
  return findings.map(({ what }) => what).join('\n')
}

/** The sessions that sleep, by the text of their statement. */
async function sleeping(): Promise<number[]> {
  const rows = await queryAt(
    url,
    "select id from information_schema.processlist where db = database() and info like 'select /* punctual sleeps%'",
  )
  return rows.map((row) => Number(row['id']))
}

describe.skipIf(!isMysqlThere)('wake-ups', () => {
  it('another process wakes each time, and says what it is about', async () => {
    const queue = freshQueue()
    const { store, calls } = await sleeper(queue)
    const other = await open(queue)
    await hears(store)
    await claim(store, { owner: 'me' })
    for (let i = 0; i < 20; i += 1) {
      const before = calls.length
      await other.put([message(`m${i}`)])
      await until(`it was woken for the ${i}th`, () => calls.length > before)
    }
    const before = calls.length
    await other.put([message('elsewhere', { topic: 'another topic' })])
    await other.control({ kind: 'pause', topic: 't' })
    await until('it was told of the pause', () => calls.includes('controls'))
    expect(calls.slice(before).filter((kind) => kind === 'due')).toEqual([])
  })

  it('two who ring at once while it goes back to sleep: none is missed', async () => {
    const queue = freshQueue()
    const { store, calls } = await sleeper(queue)
    const others = await Promise.all([open(queue), open(queue), open(queue)])
    await hears(store)
    for (let round = 0; round < 15; round += 1) {
      const before = calls.length
      await Promise.all(others.map((other, i) => other.put([message(`r${round}.${i}`)])))
      await until(`it was woken in round ${round}`, () => calls.length > before)
      await until('it sleeps again', async () => (await sleeping()).length > 0)
    }
  })

  it('what waits and is due before the new one makes a wake-up needless', async () => {
    const queue = freshQueue()
    const { store } = await sleeper(queue)
    const other = await open(queue)
    await hears(store)
    await other.put([message('first', { when: { delayMs: 3_600_000 } })])
    const number = async (): Promise<unknown> =>
      (
        await queryAt(url, 'select number from punctual_bell natural join punctual_queue where name = ?', [
          queue,
        ])
      )[0]?.['number']
    await until('it rang', async () => (await number()) !== undefined)
    const before = await number()
    await other.put([message('second', { when: { delayMs: 3_600_001 } })])
    await other.put([message('sooner', { when: { delayMs: 3_599_000 } })])
    await until('it rang for the one that is sooner', async () => (await number()) !== before)
    expect(Number(await number())).toBe(Number(before) + 1)
  })

  it('when the session that holds the lock is lost, another takes it, and it still hears', async () => {
    const queue = freshQueue()
    const { store, calls } = await sleeper(queue)
    const other = await open(queue)
    await hears(store)
    const [row] = await queryAt(
      url,
      `select is_used_lock(substring_index(substring_index(info, ' ', 6), ' ', -1)) as holder
        from information_schema.processlist where db = database() and info like 'select /* punctual sleeps%' limit 1`,
    )
    expect(Number(row?.['holder'])).toBeGreaterThan(0)
    const connection = await connectionTo(url)
    await connection.query(`kill connection ${Number(row?.['holder'])}`)
    await connection.end()
    await until('a session of the store answers again', async () => (await store.count()).isExact)
    await until('it sleeps again', async () => (await sleeping()).length > 0)
    const before = calls.length
    await other.put([message('after')])
    await until('it was woken', () => calls.length > before)
  })

  it('only sessions that sleep for us are ended', async () => {
    const queue = freshQueue()
    const { store } = await sleeper(queue)
    const other = await open(queue)
    await hears(store)
    const connection = await connectionTo(url)
    onTestFinished(() => connection.end())
    const slow = connection.query(
      "select /* somebody's own, who mentions punctual sleeps */ get_lock('x', 0), count(*) as n from information_schema.columns a, information_schema.collations b",
    ) as Promise<{ n: number }[]>
    for (let i = 0; i < 30; i += 1) await other.put([message(`m${i}`)])
    expect(Number((await slow)[0]?.n)).toBeGreaterThan(0)
  })

  it('where sessions cannot be woken, everybody looks, and the doctor says so', async () => {
    const queue = freshQueue()
    const { store, calls } = await sleeper(queue, { isDeaf: true })
    const other = await open(queue)
    const before = calls.length
    await other.put([message('a')])
    await until('it looks by itself', () => calls.length > before + 2)
    expect(whats(await store.doctor())).toContain('sessions cannot be woken')
  })

  it('an account with four rights on its tables stores, hears, and is heard of by the next look', async () => {
    const user = `other_${process.pid}`
    const database = new URL(url).pathname.slice(1)
    await queryAt(url, `create user ${user}@'%' identified by 'secret'`)
    await queryAt(url, `grant select, insert, update, delete on ${database}.* to ${user}@'%'`)
    onTestFinished(async () => void (await queryAt(url, `drop user ${user}@'%'`)))
    const queue = freshQueue()
    const { store, calls } = await sleeper(queue)
    await hears(store)
    const theirs = new URL(url)
    theirs.username = user
    theirs.password = 'secret'
    theirs.searchParams.set('publicKey', 'fetch') // Where it is a MySQL.
    const other = openMysqlStore(theirs.href, context(queue), { migrate: false })
    onTestFinished(() => other.close())
    await other.open()
    // It cannot wake us; but it hears us, as root may end anybody's query, and its own sleep it may end itself.
    const heard: string[] = []
    other.onWake(({ kind }) => heard.push(kind), 'they')
    await until('it hears', async () => whats(await other.doctor()).includes('wake-ups arrive'))
    const before = heard.length
    await store.put([message('a')])
    await until('it was woken', () => heard.length > before)
    expect(await other.put([message('b')])).toEqual(['stored'])
    expect(calls.length).toBeGreaterThan(0)
  })
})
