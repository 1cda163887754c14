/**
 * A disk filled to the brim: a clear error, nothing lost, and work goes on when there is room again. Needs a small
 * filesystem of its own, which takes the right to mount one.
 */
import { execFileSync } from 'node:child_process'
import { readdir, readlink, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { closeBells, ringBell } from '../../../src/store/file/wake.ts'
import { takeCensus } from '../../../src/testing/census.ts'
import { ack, ackThen, claimDue, message, release } from '../../../src/testing/conformance/stand.ts'
import { openStore, temporaryDirectory, type TemporaryDirectory } from './bench.ts'

const VOLUME_MIB = 16

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

  // What would add messages is refused, entry by entry.
  const [parent, other] = await claimDue(store, 2)
  if (parent === undefined || other === undefined) throw new Error('messages are due')
  const children = Array.from({ length: 100 }, (_, i) =>
    message(`child ${i}`, { body: JSON.stringify('x'.repeat(120_000)) }),
  )
  expect(await store.settle([ackThen(parent, children), release(other)])).toEqual(['refused', 'settled'])
  expect(await store.settle([release(parent)])).toEqual(['settled'])
  expect((await takeCensus(store)).places.has('child 0')).toBe(false)

  // The reserve is there so that workers can drain the store, to the last message.
  const done: string[] = []
  for (let leases = await claimDue(store, 500); leases.length > 0; leases = await claimDue(store, 500)) {
    expect(new Set(await store.settle(leases.map(ack)))).toEqual(new Set(['settled']))
    done.push(...leases.map(({ id }) => id))
  }
  expect(done.toSorted()).toEqual(stored.toSorted())
  expect((await takeCensus(store)).total).toBe(0)
  await store.close()
  const again = await openStore(path.join(place.directory, 'store'))
  expect((await again.doctor()).filter(({ what }) => what.startsWith('damaged'))).toEqual([])
  await again.close()
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

test('P2: on a disk filled to the last byte, work goes on in the reserve, and new messages come again when there is room', async (context) => {
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
  await expect(store.put([message('new')])).rejects.toMatchObject({ code: 'STORE_FULL' })
  await rm(path.join(place.directory, 'ballast'))
  expect(await store.put([message('new')])).toEqual(['stored'])
  await store.close()
})

test('P2: a store on a full disk opens, and is drained', async (context) => {
  if (!isMounted) context.skip('mounting a tmpfs is not allowed here')
  const directory = path.join(place.directory, 'store')
  const first = await openStore(directory)
  await first.put(Array.from({ length: 100 }, (_, i) => message(`m${i}`)))
  await first.close()
  await fillUp(path.join(place.directory, 'ballast'))
  const store = await openStore(directory)
  const leases = await claimDue(store, 100)
  expect(leases.length).toBe(100)
  expect(new Set(await store.settle(leases.map(ack)))).toEqual(new Set(['settled']))
  await store.close()
})

async function fillUp(file: string): Promise<void> {
  await writeFile(file, Buffer.alloc(VOLUME_MIB * 1024 * 1024)).catch((error: unknown) => {
    expect(error).toMatchObject({ code: 'ENOSPC' })
  })
}

test('a bell that cannot be rung on a full disk is closed', async (context) => {
  if (!isMounted) context.skip('mounting a tmpfs is not allowed here')
  await writeFile(path.join(place.directory, 'filling'), Buffer.alloc(VOLUME_MIB * 1024 * 1024)).catch(
    () => {},
  )
  const openHere = async (): Promise<number> => {
    const links = (await readdir('/proc/self/fd')).map((fd) =>
      readlink(`/proc/self/fd/${fd}`).catch(() => ''),
    )
    return (await Promise.all(links)).filter((file) => file.startsWith(place.directory)).length
  }
  for (let i = 0; i < 20; i += 1) ringBell(place.directory, { queue: 'q', kind: 'due' })
  expect(await openHere()).toBeLessThanOrEqual(1)
  closeBells()
  expect(await openHere()).toBe(0)
})
