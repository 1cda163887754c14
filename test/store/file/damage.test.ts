/** Torn and flipped bytes: a clear error, never a message that silently changed or vanished. */
import { cp, open, readFile, rm, stat, truncate } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ack, claimDue, dead, idsOf, message } from '../../../src/testing/conformance/stand.ts'
import { VirtualClock } from '../../../src/testing/virtual-clock.ts'
import { openStore, temporaryDirectory, type TemporaryDirectory } from './bench.ts'
import { endAll, start } from './programs.ts'

const FLIPS = Number(process.env['PUNCTUAL_FLIPS'] ?? 24)
/** Each takes a second. */
const LIVES = Math.ceil(FLIPS / 3)
const SEED = Number(process.env['PUNCTUAL_FLIP_SEED'] ?? 1)

let place: TemporaryDirectory
let original: string
let whole: string
const clock = new VirtualClock()

beforeAll(async () => {
  place = await temporaryDirectory()
  original = path.join(place.directory, 'original')
  await populate(original)
  whole = await check(original)
  expect(whole).toMatch(/^whole /)
})

afterAll(async () => {
  await endAll()
  await place.remove()
})

test(`${FLIPS} flipped bits: the store is as it was, or says that it is damaged`, async () => {
  const { size } = await stat(path.join(original, 'queue.db'))
  await sideBySide(FLIPS, async (flip) => {
    const offset = ((SEED * 7919 + flip * 104_729) * 31) % size
    const copy = await copyOf(original)
    await flipBit(path.join(copy, 'queue.db'), offset)
    const answer = await check(copy)
    expect(answer, `bit at ${offset}`).toMatch(
      new RegExp(
        `^(${whole}|damaged .*|refused (STORE_CORRUPT|ERR_ASSERTION|STORE_FOREIGN|STORE_TOO_NEW) .*)$`,
      ),
    )
  })
})

test(`${LIVES} times a few bytes changed: a worker and every verb meet typed errors only, and none spins`, async () => {
  const { size } = await stat(path.join(original, 'queue.db'))
  await sideBySide(LIVES, async (round) => {
    const copy = await copyOf(original)
    const offsets = [1, 2, 3].map((n) => ((SEED * 6311 + round * 50_021 + n * 15_485_863) * 17) % size)
    for (const offset of offsets) await flipBit(path.join(copy, 'queue.db'), offset)
    const child = start('live.mjs', {
      directory: copy,
      now: Date.UTC(2030, 0, 1) + 7_200_000,
      topics: ['order.close', 'topic 0', 'topic 1', 'topic 2', 'tags'],
    })
    const answer = await child.said('')
    await child.kill()
    expect(answer, `bits at ${offsets.join(', ')}`).toMatch(/^through/)
    expect(answer).not.toContain('INVARIANT')
  })
})

test.each([0, 100, 4096, 8192, 100_000])('a data file cut to %i bytes is refused', async (bytes) => {
  const copy = await copyOf(original)
  await truncate(path.join(copy, 'queue.db'), bytes)
  expect(await check(copy)).toMatch(/^refused STORE_CORRUPT /)
})

test('a missing data file is refused, not replaced by an empty one', async () => {
  const copy = await copyOf(original)
  await rm(path.join(copy, 'queue.db'))
  expect(await check(copy)).toMatch(/^refused STORE_CORRUPT .*queue.db is missing/)
})

test('a flipped bit in a body is an error for whoever meets that message, until it is removed', async () => {
  const copy = await copyOf(original)
  const file = path.join(copy, 'queue.db')
  const bytes = await readFile(file)
  const needle = Buffer.from('{"id":"late7"}')
  for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle, at + 1))
    await flipBit(file, at + 4)
  const store = await openStore(copy, { clock })
  await expect(store.inspect({ ids: ['late7'] })).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  expect((await store.inspect({ ids: ['late8'] })).items).toMatchObject([{ id: 'late8' }])
  await clock.advance('1h')
  await expect(claimDue(store)).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  const others = [store.put([message('new')]), store.put([message('newer')])]
  expect(await Promise.all(others)).toEqual([['stored'], ['stored']])
  // Whoever moves a message does not read its body, and leaves the damage as visible as it was.
  expect(await store.reschedule([{ id: 'late7', when: { delayMs: 0 } }])).toEqual(['rescheduled'])
  await expect(store.inspect({ ids: ['late7'] })).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  expect(await store.remove(['late7'], 'waiting')).toEqual(['removed'])
  expect(idsOf(await claimDue(store)).filter((id) => id.startsWith('late')).length).toBe(19)
  await store.close()
})

async function populate(directory: string): Promise<void> {
  const store = await openStore(directory, { clock })
  await store.put(Array.from({ length: 60 }, (_, i) => message(`due${i}`)))
  const leases = await claimDue(store, 30)
  await store.settle(leases.slice(0, 10).map((lease) => dead(lease)))
  await store.settle(leases.slice(10, 15).map(ack))
  for (const priority of [0, 1, 2] as const) {
    const topic = `topic ${priority}`
    const fields = (i: number) => ({ topic, priority, when: { delayMs: 1000 + i } })
    await store.put(Array.from({ length: 100 }, (_, i) => message(`${topic} ${i}`, fields(i))))
  }
  await store.put(Array.from({ length: 20 }, (_, i) => message(`late${i}`, { when: { delayMs: 3_600_000 } })))
  const tags = ['order-42', 'customer-7']
  await store.put(Array.from({ length: 40 }, (_, i) => message(`tagged${i}`, { topic: 'tags', tags })))
  const tagged = await claimDue(store, 20, ['tags'])
  const remember = { ms: 86_400_000, outcome: 'completed', result: '{"n":1}' } as const
  await store.settle(tagged.slice(0, 10).map((lease) => ({ ...ack(lease), kind: 'ack', remember })))
  const replacing = { topic: 'tags', tags: ['new'], ifExists: 'replace' } as const
  await store.put(tagged.slice(10).map(({ id }) => message(id, replacing)))
  await store.remove(idsOf(tagged.slice(15)), 'waiting', { isRunningToo: true })
  await store.close()
}

/** So many rounds, four at a time: each of them mostly waits for a process. */
async function sideBySide(rounds: number, run: (round: number) => Promise<void>): Promise<void> {
  let next = 0
  const go = async (): Promise<void> => {
    while (next < rounds) {
      next += 1
      await run(next - 1)
    }
  }
  await Promise.all([go(), go(), go(), go()])
}

let copies = 0

async function copyOf(directory: string): Promise<string> {
  copies += 1
  const copy = path.join(place.directory, `copy-${copies}`)
  await cp(directory, copy, { recursive: true })
  return copy
}

async function flipBit(file: string, offset: number): Promise<void> {
  const handle = await open(file, 'r+')
  const byte = Buffer.alloc(1)
  await handle.read(byte, 0, 1, offset)
  byte[0] = (byte[0] ?? 0) ^ (1 << (offset % 8))
  await handle.write(byte, 0, 1, offset)
  await handle.close()
}

/** Asks a process of its own, so that damage which ends a process fails the test and not the tests. */
async function check(directory: string): Promise<string> {
  const child = start('check.mjs', { directory, now: Date.UTC(2030, 0, 1) })
  try {
    return await child.said('')
  } finally {
    await child.kill()
  }
}
