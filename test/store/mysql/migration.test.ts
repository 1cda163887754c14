/** How the tables come to be: once, whole, by whoever may; what is refused; and what the doctor sees. */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Store } from '../../../src/store/contract/store.ts'
import { migrationText, tablesAt } from '../../../src/store/mysql/migration.ts'
import { needsMigration, type SchemaState } from '../../../src/store/sql/server/migrating.ts'
import { until } from '../redis/until.ts'
import { openMysqlStore } from '../../../src/store/mysql/open.ts'
import { mysql } from '../../../src/store/mysql/engine.ts'
import { Punctual } from '../../../src/index.ts'
import { message } from '../../../src/testing/conformance/stand.ts'
import { connectionTo, freshDatabase, isMariaDbThere, isMysqlThere, MysqlServer, queryAt } from './server.ts'
import { context } from './stores.ts'

function storeAt(url: string, log: string[] = []): Store {
  const store = openMysqlStore(url, context('q', undefined, log))
  onTestFinished(() => store.close())
  return store
}

async function tablesOf(url: string): Promise<number> {
  return (await queryAt(url, 'show tables')).length
}

describe.skipIf(!isMysqlThere)('migrations', () => {
  it('of many processes that start at once, one does it and all work', async () => {
    const url = await freshDatabase()
    const stores = Array.from({ length: 8 }, () => storeAt(url))
    await Promise.all(stores.map((store) => store.open()))
    const answers = await Promise.all(stores.map((store, i) => store.put([message(`m${i}`)])))
    expect(answers.flat()).toEqual(stores.map(() => 'stored'))
    expect(await queryAt(url, 'select version from punctual_migration')).toEqual([
      { version: 1 },
      { version: 2 },
    ])
  })

  it('one that was cut off after any of its statements is finished by the next', async () => {
    const statements = migrationText()
      .trim()
      .split(/;\n*/)
      .filter((text) => text !== '')
    const url = await freshDatabase()
    for (let done = 1; done < statements.length; done += 1) {
      const tables = await queryAt(url, 'show tables')
      for (const row of tables) await queryAt(url, `drop table ${String(Object.values(row)[0])}`)
      for (const text of statements.slice(0, done)) await queryAt(url, text)
      const store = storeAt(url)
      await store.open()
      expect(await store.put([message('a')])).toEqual(['stored'])
      await store.close()
    }
  })

  it('the first message with a key keeps processes of the version before from opening; without one they go on', async () => {
    const url = await freshDatabase()
    const before = { ...tablesAt(url), version: 1 }
    const state = async (): Promise<SchemaState | undefined> => {
      const [row] = await queryAt(
        url,
        'select max(version) as version, max(oldest) as oldest from punctual_migration',
      )
      return { version: Number(row?.['version']), oldest: Number(row?.['oldest']) }
    }
    const store = storeAt(url)
    await store.open()
    await store.put([message('a')])
    expect(needsMigration(await state(), before)).toBe(false)
    await store.put([message('b', { key: 'k' })])
    await expect(async () => needsMigration(await state(), before)).rejects.toMatchObject({
      code: 'STORE_TOO_NEW',
    })
    // One that is open already looks for what waits in state 0.
    expect(await queryAt(url, 'select id from punctual_message where state = 0')).toHaveLength(1)
  })

  it('goes on while a transaction has used the table: others get through meanwhile', async () => {
    const url = await freshDatabase()
    for (const text of migrationText()
      .trim()
      .split(/;\n*/)
      .filter((one) => one !== '')) {
      if (text.startsWith('alter')) break
      await queryAt(url, text)
    }
    const holder = await connectionTo(url)
    onTestFinished(() => holder.end())
    await holder.query('begin')
    await holder.query('select count(*) from punctual_message')
    const opening = storeAt(url).open()
    await until('another gets through beside the migration', async () => {
      await queryAt(url, 'select count(*) from punctual_message')
      const waiting = await queryAt(
        url,
        "select 1 from information_schema.processlist where state like '%metadata lock%'",
      )
      return waiting.length > 0
    })
    await queryAt(url, 'select count(*) from punctual_message')
    await holder.query('commit')
    await opening
  })

  it('what --print shows makes the same tables', async () => {
    const [printed, migrated] = [await freshDatabase(), await freshDatabase()]
    const text = (await mysql.migrationText?.(printed)) ?? ''
    for (const statement of text.trim().split(/;\n*/)) if (statement !== '') await queryAt(printed, statement)
    await mysql.migrate(migrated, context())
    expect(await tablesOf(printed)).toBe(await tablesOf(migrated))
    const store = openMysqlStore(`${printed}?migrate=false`, context('q'))
    onTestFinished(() => store.close())
    await store.open()
    expect(await store.put([message('a')])).toEqual(['stored'])
  })

  it('with migrate=false tables that are missing are refused; those of a newer version always', async () => {
    const url = await freshDatabase()
    await expect(storeAt(`${url}?migrate=false`).open()).rejects.toMatchObject({
      code: 'STORE_REFUSED',
      message: expect.stringContaining(
        'there are no tables of punctual, and migrate=false makes none',
      ) as string,
    })
    await storeAt(url).open()
    await queryAt(url, 'insert into punctual_migration (version, oldest) values (9, 9)')
    await expect(storeAt(url).open()).rejects.toMatchObject({ code: 'STORE_TOO_NEW' })
  })

  it('a user who may not create tables is told who may', async () => {
    const url = await freshDatabase()
    const user = `reader_${process.pid}`
    await queryAt(url, `create user ${user}@'%'`)
    await queryAt(url, `grant select on ${new URL(url).pathname.slice(1)}.* to ${user}@'%'`)
    onTestFinished(async () => void (await queryAt(url, `drop user ${user}@'%'`)))
    await expect(storeAt(url.replace('root@', `${user}@`)).open()).rejects.toMatchObject({
      code: 'STORE_REFUSED',
      message: expect.stringContaining('punctual migrate') as string,
    })
    await storeAt(url).open()
    const store = storeAt(url.replace('root@', `${user}@`))
    await store.open()
    await expect(store.put([message('a')])).rejects.toMatchObject({ code: 'STORE_REFUSED' })
    expect(whats(await store.doctor())).toContain('problem: this user may not insert, update, delete')
  })

  it('queues are listed; of a database without tables there are none', async () => {
    const url = await freshDatabase()
    expect(await Punctual.queues(url)).toMatchObject({ names: [] })
    const store = storeAt(url)
    await store.open()
    await store.put([message('a')])
    expect(await Punctual.queues(url)).toMatchObject({ names: ['q'] })
  })
})

describe.skipIf(!isMariaDbThere)('the doctor', () => {
  it('sees settings that lose messages, an old transaction, and a server that takes no writes', async () => {
    const settings = ['innodb-flush-log-at-trx-commit=2', 'max-allowed-packet=1M', 'log-bin', 'sync-binlog=0']
    const server = await MysqlServer.start({ settings })
    onTestFinished(() => server.stop())
    const store = storeAt(server.url)
    await store.open()
    const holder = await connectionTo(server.url)
    onTestFinished(() => holder.end())
    await holder.query('start transaction with consistent snapshot')
    const seen = whats(await store.doctor())
    expect(seen).toMatch(/problem: innodb_flush_log_at_trx_commit is 2/)
    expect(seen).toMatch(/warning: max_allowed_packet is 1048576/)
    expect(seen).toMatch(/warning: sync_binlog is 0/)
    expect(seen).toMatch(/fine: .*MariaDB 1\d/)
    expect(seen).toMatch(/fine: the clocks/)
    await server.query('set global read_only = 1')
    await expect(storeAt(server.url).open()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })
})

function whats(findings: readonly { readonly level: string; readonly what: string }[]): string {
  return findings.map(({ level, what }) => `${level}: ${what}`).join('\n')
}
