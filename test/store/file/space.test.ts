import { stat } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { ack, claimDue, message } from '../../../src/testing/conformance/bench.ts'
import { openStore, temporaryDirectory } from './bench.ts'

const ROUNDS = 15
const BATCH = 500

test('the space of completed messages is used again', async () => {
  const { directory, remove } = await temporaryDirectory()
  const store = await openStore(directory)
  const sizes: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    await store.put(
      Array.from({ length: BATCH }, (_, i) => message(`${round}-${i}`, { body: 'x'.repeat(1000) })),
    )
    await store.settle((await claimDue(store, BATCH)).map(ack))
    // What the file takes on the disk; its length includes a hole.
    sizes.push((await stat(path.join(directory, 'data.mdb'))).blocks * 512)
  }
  const [early = 0, late = 0] = [sizes[4], sizes.at(-1)]
  expect(late, `sizes were ${sizes.join(', ')}`).toBeLessThanOrEqual(early * 1.5)
  await store.close()
  await remove()
})
