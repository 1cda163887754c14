/** A misspelt --store is an error: a command that only looks, or changes what is there, makes no store of it. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { freshDatabase, isMysqlThere, queryAt as queryMysqlAt } from '../store/mysql/server.ts'
import { PostgresDatabase, queryAt, VERSIONS } from '../store/postgres/server.ts'
import { PlaceHere } from './in-process.ts'
import { makePlace } from './punctual.ts'

const LOOKING: readonly (readonly string[])[] = [
  ['stats'],
  ['list'],
  ['get', 'x'],
  ['queues'],
  ['doctor'],
  ['schedule', 'list'],
  ['schedule', 'next', 'x'],
  ['cancel', 'x'],
  ['pause', 't'],
]

describe.skipIf(VERSIONS.length === 0)('on PostgreSQL', () => {
  it('a schema that is not there is named, with what makes it, and stays away', async () => {
    const { url } = await PostgresDatabase.make()
    const shell = await makePlace(`${url}?schema=nope`, undefined, PlaceHere)
    for (const words of LOOKING) {
      const { code, stdout, stderr } = await shell.run(words)
      expect({ words, code, stdout }).toEqual({ words, code: 1, stdout: '' })
      expect(stderr).toMatch(
        / has no schema "nope" with tables of punctual; .*"punctual migrate"\. Name anoth/,
      )
    }
    expect(await shell.json(['stats'])).toMatchObject({ code: 'FAILED' })
    expect(await queryAt(url, `select 1 from pg_namespace where nspname = 'nope'`)).toEqual([])
    expect((await shell.run(['migrate'])).stdout).toMatch(/: created the schema nope, version \d+\n$/)
    expect((await shell.run(['migrate'])).stdout).toMatch(/schema=nope is up to date\n$/)
    await queryAt(url, 'delete from nope.migration where version > 1')
    expect(await shell.json(['migrate'])).toMatchObject({ what: 'the schema nope', from: 1 })
    expect(await shell.run(['stats'])).toMatchObject({ code: 0, stderr: '' })
  })

  it('an older one is migrated by whoever looks, as before', async () => {
    const { url } = await PostgresDatabase.make()
    const shell = await makePlace(`${url}?schema=older`)
    await shell.run(['migrate'])
    await queryAt(url, 'delete from older.migration where version > 1')
    expect(await shell.run(['stats'])).toMatchObject({ code: 0, stderr: '' })
    expect(await queryAt(url, 'select 1 from older.migration where version > 1')).not.toEqual([])
  })
})

describe.skipIf(!isMysqlThere)('on MySQL', () => {
  it('tables that are not there are named, with what makes them, and stay away', async () => {
    const url = await freshDatabase()
    const shell = await makePlace(url, undefined, PlaceHere)
    for (const words of LOOKING) {
      const { code, stdout, stderr } = await shell.run(words)
      expect({ words, code, stdout }).toEqual({ words, code: 1, stdout: '' })
      expect(stderr).toMatch(
        /punctual_\d+_\d+ has no tables of punctual; .*"punctual migrate"\. Name another/,
      )
    }
    expect(await queryMysqlAt(url, 'show tables')).toEqual([])
    expect((await shell.run(['migrate'])).stdout).toMatch(/: created the tables, version \d+\n$/)
    expect((await shell.run(['migrate'])).stdout).toMatch(/ is up to date\n$/)
    expect(await shell.run(['stats'])).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('on files', () => {
  it('a directory that is not there is named, and there is nothing to migrate in it', async () => {
    const shell = await makePlace()
    for (const words of [...LOOKING, ['migrate']]) {
      const { code, stdout, stderr } = await shell.run([...words, '--store', 'file:./misspelt'])
      expect({ words, code, stdout }).toEqual({ words, code: 1, stdout: '' })
      expect(stderr).toContain('there is no store at file:./misspelt')
    }
    expect(existsSync(join(shell.directory, 'misspelt'))).toBe(false)
    const { code, stdout } = await shell.run(['schedule', 'next', '--cron', '0 9 * * *', '--count', '1'])
    expect({ code, lines: stdout.split('\n').length }).toEqual({ code: 0, lines: 2 })
  })
})
