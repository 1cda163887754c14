/**
 * Two containers share a directory: each sees its own processes only, and both have one with the same pid. Needs the
 * right to make a process namespace.
 */
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { takeCensus } from '../../../src/testing/census.ts'
import { message } from '../../../src/testing/conformance/stand.ts'
import { openStore, temporaryDirectory, type TemporaryDirectory } from './bench.ts'
import { endAll, start, type Child } from './programs.ts'

let place: TemporaryDirectory

afterAll(endAll)
beforeEach(async () => void (place = await temporaryDirectory()))
afterEach(() => place.remove())

const UNSHARE = ['--pid', '--fork', '--mount-proc', '--kill-child']

function isAllowed(): boolean {
  try {
    execFileSync('unshare', [...UNSHARE, 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** In a namespace of its own; what is killed is all of it. */
function startInside(name: string, args: Readonly<Record<string, unknown>>): Child {
  return start(name, args, ['unshare', ...UNSHARE])
}

test('P3: producers and a worker in namespaces of their own work on one directory; one is killed, and nobody else stops', async (context) => {
  if (!isAllowed()) context.skip('making a process namespace is not allowed here')
  const directory = path.join(place.directory, 'store')
  const store = await openStore(directory)
  const holder = startInside('claim.mjs', { directory, leaseMs: 3_600_000 })
  await store.put([message('held')])
  await holder.said('claimed')
  const producers = ['a', 'b'].map((name) => startInside('produce.mjs', { directory, name, count: 500 }))
  for (const producer of producers) await producer.finished()
  const claim = () => store.claim({ from: 'lapsed', owner: 'reaper', limit: 10, leaseMs: 1000 })
  expect((await claim()).leases).toEqual([])
  await holder.kill()
  // Dead, but in another namespace, where nothing can be proven: its lease has to end by itself.
  expect(await claim()).toMatchObject({ leases: [], next: { state: 'WAITING' } })
  expect((await takeCensus(store)).total).toBe(1001)
  const worker = startInside('work.mjs', { directory, stop: directory })
  await worker.finished()
  expect(worker.lines.filter((line) => line.startsWith('done ')).length).toBe(1000)
  expect((await store.doctor()).filter(({ what }) => what.startsWith('damaged'))).toEqual([])
  await store.close()
})
