/** How a schema comes to be: once, whole, by whoever may; and what is refused. */
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Store } from '../../../src/store/contract/store.ts'
import { SCHEMA_VERSION, migrationText } from '../../../src/store/postgres/migration.ts'
import { openPostgresStore } from '../../../src/store/postgres/open.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { ack, claimDue, message } from '../../../src/testing/conformance/stand.ts'
import { postgres } from '../../../src/store/postgres/engine.ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PostgresDatabase, queryAt } from './server.ts'
import { context } from './stores.ts'

let server: PostgresDatabase
beforeAll(async () => {
  server = await PostgresDatabase.make()
})

let schemas = 0
function freshSchema(): string {
  schemas += 1
  return `schema_${schemas}`
}

function storeIn(schema: string, more = '', url = server.url, log: string[] = []): Store {
  const store = openPostgresStore(`${url}?schema=${schema}${more}`, context('q', undefined, log))
  onTestFinished(() => store.close())
  return store
}

function refusal(text: string): object {
  return {
    code: 'STORE_REFUSED',
    message: expect.stringContaining(`${text}; let its owner run "punctual migrate"`) as string,
  }
}

describe('migrations', () => {
  it('of many processes that start at once, one does it and all work', async () => {
    const schema = freshSchema()
    const stores = Array.from({ length: 8 }, () => storeIn(schema))
    await Promise.all(stores.map((store) => store.open()))
    const answers = await Promise.all(stores.map((store, i) => store.put([message(`m${i}`)])))
    expect(answers.flat()).toEqual(stores.map(() => 'stored'))
    expect(await server.query(`select version from ${schema}.migration order by 1`)).toEqual(
      Array.from({ length: SCHEMA_VERSION }, (_, index) => ({ version: index + 1 })),
    )
  })

  it('schemas of one database share nothing, not even wake-ups', async () => {
    const [one, two] = [storeIn(freshSchema()), storeIn(freshSchema())]
    await Promise.all([one.open(), two.open()])
    let calls = 0
    two.onWake(() => (calls += 1))
    await one.put([message('a')])
    expect((await two.count()).states.ready).toBe(0)
    expect((await takeCensus(two)).total).toBe(0)
  })

  it('migrate=false refuses a schema that is not there, and says what to do', async () => {
    const schema = freshSchema()
    await expect(storeIn(schema, '&migrate=false').open()).rejects.toMatchObject(
      refusal(`there is no schema ${schema} with tables of punctual, and migrate=false makes none`),
    )
    await storeIn(schema).open()
    await server.query(`delete from ${schema}.migration where version > 1`)
    await expect(storeIn(schema, '&migrate=false').open()).rejects.toMatchObject(
      refusal(`the schema ${schema} has version 1, and this version of punctual needs ${SCHEMA_VERSION}`),
    )
  })

  it('a schema that a newer version made is refused only if that version says so', async () => {
    const schema = freshSchema()
    await storeIn(schema).open()
    await server.query(`insert into ${schema}.migration (version, oldest) values (${SCHEMA_VERSION + 1}, 1)`)
    await storeIn(schema).open()
    await server.query(
      `update ${schema}.migration set oldest = ${SCHEMA_VERSION + 1} where version = ${SCHEMA_VERSION + 1}`,
    )
    await expect(storeIn(schema).open()).rejects.toMatchObject({ code: 'STORE_TOO_NEW' })
  })

  it('what is printed can be run by somebody else, twice, and is then all that is needed', async () => {
    const schema = freshSchema()
    const text = (await postgres.migrationText?.(`${server.url}?schema=${schema}`)) ?? ''
    expect(text).toBe(`begin;\n\n${migrationText(schema)}\ncommit;\n`)
    const broken = text.replace(/commit;\n$/, 'select 1 / 0;\ncommit;\n')
    await expect(server.query(broken)).rejects.toThrow('division by zero')
    expect(await server.query('select 1 from pg_namespace where nspname = $1', [schema])).toEqual([])
    await server.query(text)
    await server.query(text)
    const store = storeIn(schema, '&migrate=false')
    await store.open()
    expect(await store.put([message('a')])).toEqual(['stored'])
  })

  it('a role with no more rights than docs/postgres.md lists does all that a worker does, and may not migrate', async () => {
    const schema = freshSchema()
    await server.query(migrationText(schema))
    const docs = readFileSync(join(import.meta.dirname, '../../../docs/postgres.md'), 'utf8')
    const [grants = ''] = /^grant usage on schema[^`]*/m.exec(docs) ?? []
    await server.query(`create role app login; ${grants.replaceAll('schema punctual', `schema ${schema}`)}`)
    await server.query(`create table ${schema}.of_a_later_version (id int)`)
    const url = server.url.replace('postgres@', 'app@')
    expect(await queryAt(url, `select * from ${schema}.of_a_later_version`)).toEqual([])
    const store = storeIn(schema, '', url)
    await store.open()
    await store.put([message('a'), message('b', { tags: ['t'] }), message('b', { ifExists: 'replace' })])
    const leases = await claimDue(store)
    expect(await store.extend(leases, 1000)).toEqual(['extended', 'extended'])
    await store.settle(leases.map(ack))
    await store.record([{ topic: 't', completed: 1, failed: 0, dead: 0, skipped: 0, lateness: [] }])
    await takeCensus(store)
    await store.forecast({ edges: [0, 1] })
    await store.workers()
    await store.leave('test')
    const findings = await store.doctor()
    const problems = findings.filter(({ level }) => level === 'problem').map(({ what }) => what)
    expect(problems).toEqual([])
    expect(findings.map(({ what }) => what).join('\n')).toContain('this user does not own the tables')
    await expect(storeIn(freshSchema(), '', url).open()).rejects.toMatchObject({
      code: 'STORE_REFUSED',
      message: expect.stringContaining('may not create') as string,
    })
  })
})

describe('the doctor', () => {
  it('sees a schema of another version, and settings that lose messages', async () => {
    const schema = freshSchema()
    const own = await PostgresDatabase.make()
    await own.query(`alter database ${new URL(own.url).pathname.slice(1)} set synchronous_commit = off`)
    const store = storeIn(schema, '', own.url)
    await store.open()
    await own.query(`insert into ${schema}.migration (version, oldest) values (${SCHEMA_VERSION + 1}, 1)`)
    const whats = (await store.doctor()).map(({ level, what }) => `${level}: ${what}`)
    expect(whats.join('\n')).toContain(`warning: the schema has version ${SCHEMA_VERSION + 1}`)
    expect(whats.join('\n')).toMatch(/warning: synchronous_commit is off/)
    expect(whats.join('\n')).toMatch(/fine: .*PostgreSQL \d+/)
  })
})
