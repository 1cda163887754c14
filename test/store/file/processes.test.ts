/** Several processes on one directory: nothing twice, nobody deaf, nobody starved, and the dead block nobody. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { message } from '../../../src/testing/conformance/stand.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { openStore, temporaryDirectory, type TemporaryDirectory } from './bench.ts'
import { endAll, start } from './programs.ts'

const PER_PRODUCER = 2000

let place: TemporaryDirectory

afterAll(endAll)
beforeEach(async () => void (place = await temporaryDirectory()))
afterEach(() => place.remove())

test('P3: two producers and two workers share a directory, others open and close it; each message is done exactly once', async () => {
  const directory = path.join(place.directory, 'store')
  const [stop, stopOpener] = [path.join(place.directory, 'stop'), path.join(place.directory, 'stop-opener')]
  const opener = start('reopen.mjs', { directory, stop: stopOpener })
  await opener.said('opening')
  const workers = [1, 2].map(() => start('work.mjs', { directory, stop }))
  const producers = ['a', 'b'].map((name) => start('produce.mjs', { directory, name, count: PER_PRODUCER }))
  for (const producer of producers) await producer.finished()
  await writeFile(stop, '')
  for (const worker of workers) await worker.finished()
  await writeFile(stopOpener, '')
  await opener.finished()
  const done = workers.flatMap(({ lines }) => lines.filter((line) => line.startsWith('done ')))
  expect(done.length).toBe(producers.length * PER_PRODUCER)
  expect(new Set(done).size).toBe(done.length)
  const store = await openStore(directory)
  expect((await takeCensus(store)).total).toBe(0)
  await store.close()
})

test('P9: a new head in one process wakes the sleepers in another', async () => {
  const { directory } = place
  const store = await openStore(directory)
  await store.put([message('far', { when: { delayMs: 3_600_000 } })])
  const listener = start('listen.mjs', { directory })
  await listener.said('listening')
  await store.put([message('near', { when: { delayMs: 60_000 } })])
  await listener.said('woken')
  await listener.kill()
  await store.close()
})

test('several processes make a new store at once, and all find the same', async () => {
  const directory = path.join(place.directory, 'new')
  const producers = ['a', 'b', 'c', 'd'].map((name) => start('produce.mjs', { directory, name, count: 100 }))
  for (const producer of producers) await producer.finished()
  const store = await openStore(directory)
  expect((await takeCensus(store)).total).toBe(400)
  await store.close()
})

test('P6: what a killed worker had in hand is taken over at once, with its attempt counted', async () => {
  const { directory } = place
  const store = await openStore(directory)
  await store.put([message('a')])
  const holder = start('claim.mjs', { directory, leaseMs: 3_600_000 })
  await holder.said('claimed')
  const claim = () => store.claim({ from: 'lapsed', owner: 'reaper', limit: 1, leaseMs: 1000 })
  const alive = await claim()
  expect(alive.leases).toEqual([])
  // Its lease has an hour left; it is worth asking much sooner whether it still lives.
  expect(alive.next).toMatchObject({ state: 'WAITING', ms: 1500 })
  await holder.kill()
  expect(await claim()).toMatchObject({ leases: [{ id: 'a', attempt: 1 }] })
  await store.close()
})

test('P12: a worker that blocks its own event loop in the middle of a call keeps nobody from the store', async () => {
  const directory = path.join(place.directory, 'store')
  const release = path.join(place.directory, 'release')
  const blocker = start('block.mjs', { directory, release })
  const store = await openStore(directory)
  for (let round = 0; round < 5; round += 1) {
    await blocker.said(`blocked ${round}`)
    // All of this happens while its loop stands still.
    for (let i = 0; i < 20; i += 1) expect(await store.put([message(`${round}-${i}`)])).toEqual(['stored'])
    await writeFile(`${release}-${round}`, '')
  }
  await blocker.finished()
  expect((await takeCensus(store)).total).toBe(105)
  await store.close()
})

test.each([4, 8])(
  '%i processes that write without a pause: none gets less than half of its share',
  async (writers) => {
    const { directory } = place
    const [go, stop] = [`${directory}-start`, `${directory}-stop`]
    const store = await openStore(directory)
    const children = Array.from({ length: writers }, (_, i) =>
      start('compete.mjs', { directory, name: `w${i}`, start: go, stop }),
    )
    for (const child of children) await child.said('ready')
    await writeFile(go, '')
    await expect
      .poll(async () => (await store.count()).states.delayed, { timeout: 50_000 })
      .toBeGreaterThan(writers * 500)
    await writeFile(stop, '')
    const done: number[] = []
    for (const child of children) done.push(Number((await child.said('did')).split(' ')[1]))
    for (const child of children) await child.finished()
    const mean = done.reduce((sum, one) => sum + one, 0) / writers
    expect(Math.min(...done) / mean, `puts: ${done.join(', ')}`).toBeGreaterThanOrEqual(0.5)
    expect((await store.count()).states.delayed).toBe(done.reduce((sum, one) => sum + one, 0))
    await store.close()
  },
)

test('queues in one directory share nothing but the directory', async () => {
  const { directory } = place
  const orders = await openStore(path.join(directory, 'store'), { queue: 'orders' })
  const mails = await openStore(path.join(directory, 'store'), { queue: 'mails' })
  await orders.put([message('1')])
  await mails.put([message('1', { body: '"mail"' }), message('2')])
  expect((await takeCensus(orders)).total).toBe(1)
  expect((await takeCensus(mails)).total).toBe(2)
  await orders.close()
  expect((await takeCensus(mails)).total).toBe(2)
  await mails.close()
})
