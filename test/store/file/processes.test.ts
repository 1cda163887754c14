/** Several processes on one directory: nothing twice, nobody deaf, and the dead block nobody. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { message } from '../../../src/testing/conformance/stand.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { openStore, temporaryDirectory, type TemporaryDirectory } from './bench.ts'
import { build, type Build } from './build.ts'

const PER_PRODUCER = 2000

let program: Build
let place: TemporaryDirectory

beforeAll(async () => void (program = await build()))
afterAll(() => program.remove())
beforeEach(async () => void (place = await temporaryDirectory()))
afterEach(() => place.remove())

test('P3: two producers and two workers share a directory; each message is done exactly once', async () => {
  const { directory } = place
  const stop = `${directory}-stop`
  const workers = [1, 2].map(() => program.start('work.mjs', { directory, stop }))
  const producers = ['a', 'b'].map((name) =>
    program.start('produce.mjs', { directory, name, count: PER_PRODUCER }),
  )
  for (const producer of producers) await producer.finished()
  await writeFile(stop, '')
  for (const worker of workers) await worker.finished()
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
  const listener = program.start('listen.mjs', { directory })
  await listener.said('listening')
  await store.put([message('near', { when: { delayMs: 60_000 } })])
  await listener.said('woken')
  await listener.kill()
  await store.close()
})

test('a process killed while it holds the write lock blocks nobody', async () => {
  const { directory } = place
  const store = await openStore(directory)
  await store.put([message('before')])
  const holder = program.start('hold.mjs', { directory })
  await holder.said('holding')
  const put = store.put([message('after')])
  await holder.kill()
  expect(await put).toEqual(['stored'])
  expect((await takeCensus(store)).total).toBe(2)
  await store.close()
})

test('closing does not wait for a process that keeps the write lock', async () => {
  const { directory } = place
  const store = await openStore(directory)
  const holder = program.start('hold.mjs', { directory })
  await holder.said('holding')
  const put = store.put([message('stuck')])
  const outcome = expect(put).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  await store.close()
  await outcome
  await holder.kill()
})

test('what a killed worker had in hand is taken over after its lease', async () => {
  const { directory } = place
  const store = await openStore(directory)
  await store.put([message('a')])
  const holder = program.start('claim.mjs', { directory, leaseMs: 1 })
  await holder.said('claimed')
  await holder.kill()
  await expect
    .poll(() => store.claim({ from: 'lapsed', owner: 'reaper', limit: 1, leaseMs: 1000 }), {
      timeout: 10_000,
    })
    .toMatchObject({ leases: [{ id: 'a', attempt: 1 }] })
  await store.close()
})

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
