/** Lists and sorted sets of other packages, read while their workers and producers change them. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { systemRandom } from '../../../src/random.ts'
import { ForeignKeys } from '../../../src/store/redis/foreign/reading.ts'
import { RedisServer } from './server.ts'

let server: RedisServer
let keys: ForeignKeys
beforeAll(async () => {
  server = await RedisServer.start()
  const logger = { warn: () => undefined, error: () => undefined }
  const context = { clock: systemClock, random: systemRandom, logger }
  keys = new ForeignKeys(server.url, { prefix: 'bull', queue: 'q' }, context)
})
afterAll(async () => {
  keys?.close()
  await server?.stop()
})

const numbered = (count: number): string[] => Array.from({ length: count }, (_, n) => `job-${n}`)

function key(name: string): string {
  return `bull:q:${name}`
}

async function fill(name: string, members: readonly (readonly [member: string, score: number])[]) {
  for (let from = 0; from < members.length; from += 1_000)
    await server.admin([
      'ZADD',
      key(name),
      ...members.slice(from, from + 1_000).flatMap(([member, score]) => [String(score), member]),
    ])
}

/** What is read, with something done after every page. */
async function readAll<T>(
  pages: AsyncIterable<readonly T[]>,
  afterPage?: () => Promise<unknown>,
): Promise<T[]> {
  const found: T[] = []
  for await (const page of pages) {
    expect(page.length).toBeLessThanOrEqual(200)
    found.push(...page)
    await afterPage?.()
  }
  return found
}

it('P2: a sorted set that shrinks while it is read: what stays is read, once, in its order', async () => {
  const all = numbered(5_000)
  await fill(
    'shrinking',
    all.map((member, n) => [member, n]),
  )
  const read = await readAll(keys.sorted('shrinking'), () =>
    server.admin(['ZPOPMIN', key('shrinking'), '150']),
  )
  const members = read.map(([member]) => member)
  expect(new Set(members).size).toBe(members.length)
  expect(members).toEqual(members.toSorted((a, b) => Number(a.slice(4)) - Number(b.slice(4))))
  const left = (await server.admin(['ZRANGE', key('shrinking'), '0', '-1'])) as string[]
  expect(left.length).toBeGreaterThan(0)
  expect(left.filter((member) => !members.includes(member))).toEqual([])
})

it.each([199, 200, 201, 3_000, 20_000])('a sorted set with %i members of one score', async (count) => {
  const name = `ties-${count}`
  const members = [
    ['before', 1] as const,
    ...numbered(count).map((member) => [member, 7e15] as const),
    ['after', 7e15 + 1] as const,
  ]
  await fill(name, members)
  const read = await readAll(keys.sorted(name))
  expect(read.map(([member]) => member).toSorted()).toEqual(members.map(([member]) => member).toSorted())
  expect(read.at(0)).toEqual(members.at(0))
  expect(read.at(-1)).toEqual(members.at(-1))
})

it('a list is read from its end, where the next ones are', async () => {
  await server.admin(['LPUSH', key('calm'), ...numbered(2_500)])
  expect(await readAll(keys.list('calm'))).toEqual(numbered(2_500))
  expect(await readAll(keys.list('nothing'))).toEqual([])
})

it('P2: a list with pushes, pops and removals while it is read: what stays is read once', async () => {
  const all = numbered(20_000)
  for (let from = 0; from < all.length; from += 1_000)
    await server.admin(['LPUSH', key('busy'), ...all.slice(from, from + 1_000)])
  let isReading = true
  const disturb = async (): Promise<void> => {
    for (let n = 0; isReading; n += 1) {
      await server.admin(['LPUSH', key('busy'), `new-${n}`])
      await server.admin(['RPOP', key('busy'), '20'])
      // Removed from what is read first: all that follows moves towards the head.
      await server.admin(['LREM', key('busy'), '1', `job-${19_999 - 2 * n}`])
    }
  }
  const disturbed = disturb()
  const read = await readAll(keys.list('busy'))
  isReading = false
  await disturbed
  expect(new Set(read).size).toBe(read.length)
  const found = new Set(read)
  const left = (await server.admin(['LRANGE', key('busy'), '0', '-1'])) as string[]
  const old = left.filter((member) => member.startsWith('job-'))
  expect(old.length).toBeGreaterThan(0)
  expect(old.filter((member) => !found.has(member))).toEqual([])
})
