/**
 * A disk filled to the brim: a clear error, nothing lost, and work goes on when there is room again. Needs a small
 * filesystem of its own, which takes the right to mount one.
 */
import { execFileSync } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { acquireEnvironment, releaseEnvironment } from '../../../src/store/file/environment.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { ack, claimDue, message } from '../../../src/testing/conformance/stand.ts'
import { openStore, silent, temporaryDirectory, type TemporaryDirectory } from './bench.ts'

const VOLUME_MIB = 16
const LARGE_BYTES = 3 * 1024 * 1024

let place: TemporaryDirectory
let isMounted = false

beforeEach(async () => {
  place = await temporaryDirectory()
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${VOLUME_MIB}m`, 'tmpfs', place.directory], {
      stdio: 'ignore',
    })
    isMounted = true
  } catch {
    isMounted = false
  }
})

afterEach(async () => {
  if (isMounted) execFileSync('umount', [place.directory])
  await place.remove()
})

test('P2: a full disk refuses new messages, loses none, and can be drained', async (context) => {
  if (!isMounted) context.skip('mounting a tmpfs is not allowed here')
  const store = await openStore(path.join(place.directory, 'store'))
  const stored: string[] = []
  const fill = async (): Promise<unknown> => {
    for (let batch = 0; ; batch += 1) {
      const messages = Array.from({ length: 20 }, (_, i) =>
        message(`${stored.length}-${i}`, { body: JSON.stringify('x'.repeat(1000)) }),
      )
      try {
        await store.put(messages)
      } catch (error) {
        return error
      }
      stored.push(...messages.map(({ id }) => id))
    }
  }
  expect(await fill()).toMatchObject({ name: 'UnavailableError', code: 'STORE_FULL' })
  expect(stored.length).toBeGreaterThan(1000)
  const { places } = await takeCensus(store)
  expect([...places.keys()].toSorted()).toEqual(stored.toSorted())

  // The reserve is there so that workers can go on.
  const leases = await claimDue(store, 1000)
  expect(leases.length).toBeGreaterThan(0)
  expect(new Set(await store.settle(leases.map(ack)))).toEqual(new Set(['settled']))

  // Pages of completed messages are used again.
  expect(await store.put([message('again')])).toEqual(['stored'])
  await store.close()
})

test('P2: no room at all: the call fails, the store stays whole, and recovers', async (context) => {
  if (!isMounted) context.skip('mounting a tmpfs is not allowed here')
  const ballast = path.join(place.directory, 'ballast')
  const store = await openStore(path.join(place.directory, 'store'))
  await store.put(Array.from({ length: 100 }, (_, i) => message(`m${i}`)))
  await fillUp(ballast)
  const big = message('big', { body: JSON.stringify('x'.repeat(500_000)) })
  await expect(store.put([big])).rejects.toMatchObject({ code: 'STORE_FULL' })
  expect((await takeCensus(store)).total).toBe(100)
  await rm(ballast)
  expect(await store.put([big])).toEqual(['stored'])
  expect((await takeCensus(store)).total).toBe(101)
  await store.close()
})

test('P2: on a disk filled to the last byte, work goes on in what the file keeps ahead', async (context) => {
  if (!isMounted) context.skip('mounting a tmpfs is not allowed here')
  const store = await openStore(path.join(place.directory, 'store'))
  await store.put(Array.from({ length: 100 }, (_, i) => message(`m${i}`)))
  await fillUp(path.join(place.directory, 'ballast'))
  const moves = Array.from({ length: 100 }, (_, i) => ({ id: `m${i}`, when: { delayMs: 0 } }))
  for (let round = 0; round < 50; round += 1) {
    expect(new Set(await store.reschedule(moves))).toEqual(new Set(['rescheduled']))
  }
  const leases = await claimDue(store, 100)
  expect(leases.length).toBe(100)
  expect(new Set(await store.settle(leases.map(ack)))).toEqual(new Set(['settled']))
  expect((await takeCensus(store)).total).toBe(0)
  await store.close()
})

test('P8: a commit that does not fit is taken back before the library writes any of it', async (context) => {
  if (!isMounted) context.skip('mounting a tmpfs is not allowed here')
  const ballast = path.join(place.directory, 'ballast')
  const environment = await acquireEnvironment(path.join(place.directory, 'store'), 'full', silent)
  const { committer, tree } = environment
  const key = Buffer.from('test')
  const putLarge = (): Promise<void> => committer.commit(1, () => tree.put(key, Buffer.alloc(LARGE_BYTES)))
  await fillUp(ballast)
  // The code is in words, so it was Node's write that failed, not LMDB's.
  await expect(putLarge()).rejects.toMatchObject({ code: 'STORE_FULL', cause: { code: 'ENOSPC' } })
  tree.refresh()
  expect(tree.get(key)).toBeUndefined()
  await rm(ballast)
  await putLarge()
  tree.refresh()
  expect(tree.get(key)?.length).toBe(LARGE_BYTES)
  await releaseEnvironment(environment)
})

async function fillUp(file: string): Promise<void> {
  await writeFile(file, Buffer.alloc(VOLUME_MIB * 1024 * 1024)).catch((error: unknown) => {
    expect(error).toMatchObject({ code: 'ENOSPC' })
  })
}
