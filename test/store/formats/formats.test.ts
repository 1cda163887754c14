/** Every format that a store ever had opens, or is migrated; a newer one is refused. */
import { readFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../../src/index.ts'
import { insidesOf } from '../../../src/queue/insides.ts'
import { connect as openDatabase } from '../../../src/store/file/database/driver.ts'
import { FORMAT_VERSION } from '../../../src/store/file/database/schema.ts'
import { SCHEMA_VERSION as MYSQL_VERSION } from '../../../src/store/mysql/migration.ts'
import { SCHEMA_VERSION } from '../../../src/store/postgres/migration.ts'
import { takeCensus } from '../../../src/testing/index.ts'
import { connectionTo, freshDatabase, isMysqlThere } from '../mysql/server.ts'
import { PostgresDatabase } from '../postgres/server.ts'
import { RedisServer } from '../redis/server.ts'

const LATER = Date.UTC(2099, 0, 1)

function fixture(name: string): string {
  return join(import.meta.dirname, name)
}

async function unpacked(name: string): Promise<Buffer> {
  return gunzipSync(await readFile(fixture(name)))
}

function queueAt(store: string): Punctual {
  const queue = new Punctual({ store, queue: 'kept', logger: false })
  onTestFinished(async () => void (await queue.stop()))
  return queue
}

type Had = { readonly tags: boolean; readonly schedules: boolean; readonly keys: boolean }

/** All that `write.mjs` put there is there, and works. */
async function expectWhole(url: string, { tags, schedules, keys }: Had): Promise<void> {
  const queue = queueAt(url)
  expect(await queue.get('later')).toMatchObject({
    topic: 'a',
    payload: { n: 1 },
    dueAt: LATER,
    state: 'delayed',
  })
  expect(await queue.get('large')).toMatchObject({ payload: { text: 'x'.repeat(3_000) }, priority: 'high' })
  expect(await queue.get('retried')).toMatchObject({ payload: 2, state: 'delayed', attempt: 1 })
  expect(await queue.get('dead')).toMatchObject({ payload: 3, state: 'dead', reason: 'no use' })
  if (tags) {
    expect((await queue.list({ tag: 'ü' })).items.map(({ id }) => id)).toEqual(['tagged'])
    expect(await queue.get('remembered')).toMatchObject({ state: 'completed', result: { result: 'é' } })
  }
  if (schedules) {
    const yearly = { topic: 'a', cron: '0 3 1 1 *', zone: 'Europe/Berlin', startAt: LATER }
    expect(await queue.schedules.get('yearly')).toMatchObject(yearly)
    expect((await queue.stats()).controls).toMatchObject([
      { topic: 'a', limit: { concurrency: 3 } },
      ...(keys ? [{ topic: 'c', limit: { perKey: { concurrency: 1 } } }] : []),
      { topic: 'held', paused: {} },
    ])
  }
  if (keys) {
    expect((await queue.list({ topic: 'c', key: 'ü{1}' })).items.map(({ id }) => id)).toEqual([
      'first',
      'second',
    ])
    expect((await queue.keys('c')).keys).toMatchObject([{ key: 'ü{1}', waiting: 2, limit: { weight: 2 } }])
  }
  const store = await insidesOf(queue).open()
  expect((await takeCensus(store)).total).toBe((tags ? 5 : 4) + (keys ? 2 : 0))
  expect((await queue.doctor()).filter(({ level }) => level === 'problem')).toEqual([])
  expect(await queue.revive(['dead'])).toBe(1)
  const worker = queueAt(url)
  const ran = new Promise<string>((resolve) => worker.handle('a', async ({ id }) => resolve(id)))
  await worker.start()
  expect(await ran).toBe('dead')
}

async function layFile(name: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'punctual-format-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  await writeFile(join(directory, 'queue.db'), await unpacked(name))
  return directory
}

describe('files', () => {
  const versions = Array.from({ length: FORMAT_VERSION }, (_, index) => index + 1)
  it.each(versions)('format %i: everything is there', async (version) => {
    const directory = await layFile(`file-${version}.db.gz`)
    await expectWhole(`file:${directory}`, {
      tags: version >= 2,
      schedules: version >= 3,
      keys: version >= 4,
    })
  })

  it('a newer format is refused with what to do', async () => {
    const directory = await layFile(`file-${FORMAT_VERSION}.db.gz`)
    const db = openDatabase(join(directory, 'queue.db'))
    db.exec(`PRAGMA user_version = ${FORMAT_VERSION + 1}`)
    db.close()
    await expect(queueAt(`file:${directory}`).stats()).rejects.toMatchObject({
      code: 'STORE_TOO_NEW',
      message: expect.stringContaining('Update punctual') as string,
    })
  })
})

describe('PostgreSQL', () => {
  let server: PostgresDatabase
  beforeAll(async () => {
    server = await PostgresDatabase.make()
  })

  async function lay(name: string): Promise<void> {
    await server.query('drop schema if exists punctual cascade')
    await server.query((await unpacked(name)).toString())
  }

  const versions = Array.from({ length: SCHEMA_VERSION }, (_, index) => index + 1)
  it.each(versions)('schema %i: everything is there', async (version) => {
    await lay(`postgres-${version}.sql.gz`)
    await expectWhole(server.url, { tags: true, schedules: true, keys: version >= 3 })
  })

  it('a newer schema is used if it says that this version may, else refused with what to do', async () => {
    await lay(`postgres-${SCHEMA_VERSION}.sql.gz`)
    await server.query('insert into punctual.migration (version, oldest) values (999, 1)')
    expect((await queueAt(server.url).stats()).counts.dead).toBe(1)
    await server.query('update punctual.migration set oldest = 999 where version = 999')
    await expect(queueAt(server.url).stats()).rejects.toMatchObject({
      code: 'STORE_TOO_NEW',
      message: expect.stringContaining('update punctual') as string,
    })
  })
})

async function layTables(name: string): Promise<{ url: string; run: (text: string) => Promise<unknown> }> {
  const url = await freshDatabase()
  const connection = await connectionTo(url)
  onTestFinished(() => connection.end())
  const run = (text: string): Promise<unknown> => connection.query(text)
  await run((await unpacked(name)).toString())
  return { url, run }
}

describe.skipIf(!isMysqlThere)('MySQL', () => {
  const versions = Array.from({ length: MYSQL_VERSION }, (_, index) => index + 1)
  it.each(versions)('tables %i: everything is there', async (version) => {
    const { url } = await layTables(`mysql-${version}.sql.gz`)
    await expectWhole(url, { tags: true, schedules: true, keys: version >= 2 })
  })

  it('newer tables are used if they say that this version may, else refused with what to do', async () => {
    const { url, run } = await layTables(`mysql-${MYSQL_VERSION}.sql.gz`)
    await run('insert into punctual_migration (version, oldest) values (999, 1)')
    expect((await queueAt(url).stats()).counts.dead).toBe(1)
    await run('update punctual_migration set oldest = 999 where version = 999')
    await expect(queueAt(url).stats()).rejects.toMatchObject({
      code: 'STORE_TOO_NEW',
      message: expect.stringContaining('update punctual') as string,
    })
  })
})

describe('Redis', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await RedisServer.start()
  })
  afterAll(() => server?.stop())

  it('layout 2: everything is there', async () => {
    await server.admin(['FLUSHALL'])
    const commands = JSON.parse(await readFile(fixture('redis-2.json'), 'utf8')) as string[][]
    await sendBytes(new URL(server.url), commands)
    await expectWhole(server.url, { tags: true, schedules: true, keys: false })
  })

  it('the layout before it is refused, and so is the one after it, with what to do', async () => {
    await server.admin(['FLUSHALL'])
    await server.admin(['HSET', 'punctual:{kept}:payload', 'a', 'b'])
    await expect(queueAt(server.url).stats()).rejects.toMatchObject({ code: 'STORE_TOO_OLD' })
    await server.admin(['FLUSHALL'])
    await server.admin(['HSET', 'punctual:3:{kept}:payload', 'a', 'b'])
    await expect(queueAt(server.url).stats()).rejects.toMatchObject({
      code: 'STORE_TOO_NEW',
      message: expect.stringContaining('update punctual') as string,
    })
  })
})

/** Each character of a fixture is a byte: some values are no text. */
function sendBytes({ hostname, port }: URL, commands: readonly (readonly string[])[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let replies = 0
    socket.on('error', reject)
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1')
      if (text.includes('-ERR')) reject(new Error(text))
      replies += text.split('\r\n').length - 1
      if (replies === commands.length) socket.end(() => resolve())
    })
    socket.write(Buffer.from(commands.map(encode).join(''), 'latin1'))
  })
}

function encode(command: readonly string[]): string {
  return `*${command.length}\r\n${command.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`
}
