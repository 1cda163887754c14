/** `punctual move` as a shell sees it; what it does to stores is in `test/queue/moving`. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { Punctual } from '../../src/index.ts'
import { gate } from '../runtime/world.ts'
import { freshDatabase, isMysqlThere, queryAt as queryMysqlAt } from '../store/mysql/server.ts'
import { PostgresDatabase, queryAt, VERSIONS } from '../store/postgres/server.ts'
import { redisEngine } from './engines.ts'
import { makePlace, type Place } from './punctual.ts'

const redis = redisEngine()
afterAll(() => redis.stop())

describe('move', () => {
  it('says what it would move, moves it, and says where the source stands', async () => {
    const place = await makePlace()
    const to = (await redis.store()) ?? ''
    await place.run(['produce', 'a', '1', '--id', 'one', '--delay', '1h'])
    await place.run(['produce', 'a', '2', '--id', 'two'])
    await place.run(['schedule', 'set', 'nightly', 'a', '{}', '--cron', '0 3 * * *'])
    await place.run(['limit', 'a', '--concurrency', '2'])
    const words = ['move', '--from', 'file:.punctual', '--to', to]
    const what = '1 schedule, 2 messages, 0 dead letters, 0 remembered ids'
    expect(await place.run([...words, '--dry-run'])).toMatchObject({
      code: 0,
      stdout: `would move ${what}\n`,
    })
    expect(await place.json(['stats'])).toMatchObject({ counts: { delayed: 1, ready: 1 } })
    const { code, stdout } = await place.run(words)
    expect([code, stdout]).toEqual([
      0,
      `moved ${what}
               DELAYED  READY  RUNNING  DEAD
source before        1      1        0     0
source after         0      0        0     0
target before        0      0        0     0
target after         1      1        0     0
pauses and limits carried over: a
the source stays paused; to use it again: punctual resume --store file:.punctual --queue default
`,
    ])
    expect(await place.json(['get', 'one', '--store', to])).toMatchObject({ id: 'one', state: 'delayed' })
    expect(await place.json(['stats'])).toMatchObject({
      counts: { delayed: 0, ready: 0 },
      controls: [{ paused: {} }, { topic: 'a' }],
    })
    expect(await place.json(words)).toMatchObject({ moved: { waiting: 0 }, left: 0, conflictCount: 0 })
  })

  it('takes another name, names what is taken there, and then ends with 1', async () => {
    const place = await makePlace()
    await place.run(['produce', 'a', '1', '--id', 'one', '--queue', 'old'])
    await place.run(['produce', 'a', '2', '--id', 'one', '--queue', 'new'])
    const words = [
      'move',
      '--from',
      'file:.punctual',
      '--to',
      'file:.punctual',
      '--queue',
      'old',
      '--to-queue',
      'new',
    ]
    const dry = await place.run([...words, '--dry-run'])
    expect([dry.code, dry.stdout]).toEqual([
      1,
      expect.stringContaining('one: its id is taken in the target by one that differs in body'),
    ])
    expect(await place.json(words)).toMatchObject({
      conflicts: [{ id: 'one', kind: 'waiting' }],
      conflictCount: 1,
    })
    expect((await place.run(words)).code).toBe(1)
    expect(await place.json(['get', 'one', '--queue', 'new'])).toMatchObject({ payload: 2 })
    expect(await place.json(['get', 'one', '--queue', 'old'])).toMatchObject({ payload: 1 })
  })

  it.each([
    [['move'], 2, '--from URL is missing'],
    [['move', '--from', 'file:a'], 2, '--to URL is missing'],
    [['move', '--from', 'file:nowhere', '--to', 'file:b'], 1, 'there is no store at file:nowhere'],
    [['move', '--from', 'memory:', '--to', 'file:b'], 2, 'would end with this command'],
    [['move', '--from', 'file:.punctual', '--to', 'memory:'], 2, 'would end with this command'],
    [['move', '--from', 'file:.punctual', '--to', 'file:.punctual'], 1, 'are the same queue'],
    [['move', '--from', 'file:.punctual', '--to', 'file:b', '--wait', 'long'], 2, '--wait is "long"'],
  ])('%j ends with %i', async (words, code, line) => {
    const place = await makePlace()
    await place.run(['produce', 'a', '1'])
    const ended = await place.run(words)
    expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining(line)])
  })
})

async function look(to: string): Promise<{ readonly place: Place; readonly looked: unknown }> {
  const place = await makePlace()
  await place.run(['produce', 'a', '1'])
  return { place, looked: await place.run(['move', '--from', 'file:.punctual', '--to', to, '--dry-run']) }
}

describe('move --dry-run', () => {
  const would = { code: 0, stdout: 'would move 0 schedules, 1 message, 0 dead letters, 0 remembered ids\n' }

  it('makes no directory of a target that is not there', async () => {
    const { place, looked } = await look('file:new')
    expect(looked).toMatchObject(would)
    expect(existsSync(join(place.directory, 'new'))).toBe(false)
  })

  it.skipIf(VERSIONS.length === 0)('makes no schema, and asks for no right to make one', async () => {
    const server = await PostgresDatabase.make()
    const role = `looker_${process.pid}`
    try {
      await queryAt(server.url, `create role ${role} login`)
      const url = new URL(server.url)
      url.username = role
      url.searchParams.set('schema', 'looked')
      expect((await look(url.href)).looked).toMatchObject(would)
      url.username = new URL(server.url).username
      expect((await look(url.href)).looked).toMatchObject(would)
      expect(await queryAt(server.url, `select 1 from pg_namespace where nspname = 'looked'`)).toEqual([])
    } finally {
      await queryAt(server.url, `drop role if exists ${role}`)
    }
  })

  it.skipIf(!isMysqlThere)('makes no tables', async () => {
    const url = await freshDatabase()
    expect((await look(url)).looked).toMatchObject(would)
    expect(await queryMysqlAt(url, 'show tables')).toEqual([])
  })

  it('says what it would wait for', async () => {
    const place = await makePlace()
    const queue = new Punctual({ store: `file:${join(place.directory, '.punctual')}` })
    const words = ['move', '--from', 'file:.punctual', '--to', 'file:new', '--dry-run']
    const ending = gate()
    queue.handle('a', () => ending.opened)
    try {
      await queue.produce('a')
      await queue.start()
      await expect.poll(async () => (await queue.stats()).counts.running).toBe(1)
      const { stdout } = await place.run(words)
      expect(stdout).toContain('remembered ids, and 1 message that runs now, once it has ended\n')
      await queue.produce('a')
      await expect.poll(async () => (await queue.stats()).counts.running).toBe(2)
      const { stdout: two } = await place.run(words)
      expect(two).toContain('remembered ids, and 2 messages that run now, once they have ended\n')
    } finally {
      ending.open()
      await queue.stop()
    }
  })
})
