/**
 * LMDB sets the number of the last commit, as the lock file has it, whenever a process opens the directory, and may set
 * it back: `last-commit.ts` says how. Whoever then began from it would undo a commit of others.
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { takeCensus } from '../../../src/testing/census.ts'
import { claimDue, message } from '../../../src/testing/conformance/stand.ts'
import { openStore, temporaryDirectory, type TemporaryDirectory } from './bench.ts'
import { build, type Build } from './build.ts'

const NUMBER_AT = 8
const PER_PRODUCER = 3000

let program: Build
let place: TemporaryDirectory

beforeAll(async () => void (program = await build()))
afterAll(() => program.remove())
beforeEach(async () => void (place = await temporaryDirectory()))
afterEach(() => place.remove())

test.each([1, 2, 3])('P2: a last commit set back by %i loses nothing', async (steps) => {
  const store = await openStore(place.directory)
  const ids = Array.from({ length: 10 }, (_, i) => `m${i}`)
  for (const id of ids.slice(0, 5)) await store.put([message(id)])
  setBack(place.directory, steps)
  for (const id of ids.slice(5)) await store.put([message(id)])
  expect([...(await takeCensus(store)).places.keys()].toSorted()).toEqual(ids)
  await store.close()
})

test('P2: it is set right by a thread too, whose end leaves the locks of the process alone', async () => {
  const { directory } = place
  const store = await openStore(directory)
  await store.put([message('before')])
  setBack(directory, 1)
  const { args } = program.commandOf('produce.mjs', { directory, name: 'thread', count: 1 })
  const [file = '', ...argv] = args
  const [code] = (await once(new Worker(file, { argv, stdout: true }), 'exit')) as [number]
  expect(code).toBe(0)
  // Without our locks this one would make the lock file anew, under our feet.
  const producer = program.start('produce.mjs', { directory, name: 'process', count: 1 })
  await producer.finished()
  await store.put([message('after')])
  expect((await takeCensus(store)).total).toBe(4)
  await store.close()
})

test('P3: a claim after the last commit was set back hands out nothing twice', async () => {
  const store = await openStore(place.directory)
  await store.put([message('a'), message('b')])
  const first = await claimDue(store, 1)
  setBack(place.directory, 1)
  const second = await claimDue(store, 2)
  expect([...first, ...second].map(({ id }) => id).toSorted()).toEqual(['a', 'b'])
  await store.close()
})

test('P2, P3: processes that open the directory all the time disturb nobody', async () => {
  const { directory } = place
  const stop = `${directory}-stop`
  const stopWorkers = `${directory}-stop-workers`
  const store = await openStore(directory)
  const opener = program.start('reopen.mjs', { directory, stop })
  await opener.said('opening')
  const workers = [1, 2].map(() => program.start('work.mjs', { directory, stop: stopWorkers }))
  const producers = ['a', 'b'].map((name) =>
    program.start('produce.mjs', { directory, name, count: PER_PRODUCER }),
  )
  for (const producer of producers) await producer.finished()
  await writeFile(stopWorkers, '')
  for (const worker of workers) await worker.finished()
  await writeFile(stop, '')
  await opener.finished()
  const done = workers.flatMap(({ lines }) => lines.filter((line) => line.startsWith('done ')))
  expect(done.length).toBe(producers.length * PER_PRODUCER)
  expect(new Set(done).size).toBe(done.length)
  expect((await takeCensus(store)).total).toBe(0)
  await store.close()
})

/** By another process: one that closes the lock file gives up all its locks on it. */
function setBack(directory: string, steps: number): void {
  const script = `
    const { openSync, readSync, writeSync } = require('node:fs')
    const descriptor = openSync(process.argv[1], 'r+')
    const number = new BigUint64Array(1)
    readSync(descriptor, number, 0, 8, ${NUMBER_AT})
    number[0] -= BigInt(process.argv[2])
    writeSync(descriptor, number, 0, 8, ${NUMBER_AT})`
  execFileSync(process.execPath, ['--eval', script, path.join(directory, 'lock.mdb'), String(steps)])
}
