import { stat } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { FileStore } from '../../../src/store/file/store.ts'
import { ack, claimDue, message } from '../../../src/testing/conformance/stand.ts'
import { openStore, temporaryDirectory, type TemporaryDirectory } from './bench.ts'
import { endAll, start } from './programs.ts'

const ROUNDS = 15
const BATCH = 500

let place: TemporaryDirectory

beforeEach(async () => {
  place = await temporaryDirectory()
})

afterEach(() => place.remove())

/** Puts and completes as many as it takes to see whether space is used again; what the file took after each round. */
async function churn(store: FileStore, rounds = ROUNDS): Promise<number[]> {
  const sizes: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    await store.put(
      Array.from({ length: BATCH }, (_, i) => message(`${round}-${i}`, { body: 'x'.repeat(1000) })),
    )
    await store.settle((await claimDue(store, BATCH)).map(ack))
    // What the file takes on the disk.
    const files = await Promise.all(
      ['queue.db', 'queue.db-wal'].map((file) => stat(path.join(place.directory, file))),
    )
    sizes.push(files.reduce((sum, { blocks }) => sum + blocks * 512, 0))
  }
  return sizes
}

test('the space of completed messages is used again', async () => {
  const store = await openStore(place.directory)
  const sizes = await churn(store)
  const [early = 0, late = 0] = [sizes[4], sizes.at(-1)]
  expect(late, `sizes were ${sizes.join(', ')}`).toBeLessThanOrEqual(early * 1.5)
  await store.close()
})

test('P10: a process killed in the middle of a read does not keep the space of what is completed after', async () => {
  const store = await openStore(place.directory)
  await churn(store, 2)
  const reader = start('read.mjs', { directory: place.directory })
  await reader.said('reading')
  await reader.kill()
  const sizes = await churn(store, 3 * ROUNDS)
  const [early = 0, late = 0] = [sizes[ROUNDS], sizes.at(-1)]
  expect(late, `sizes were ${sizes.join(', ')}`).toBeLessThanOrEqual(early * 1.5)
  await store.close()
  await endAll()
})
