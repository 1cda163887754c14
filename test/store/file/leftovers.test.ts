import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../../../src/store/file/database/driver.ts'
import { claim, message } from '../../../src/testing/conformance/stand.ts'
import { VirtualClock } from '../../../src/testing/virtual-clock.ts'
import { expectLeftoversGone, type LeftoverStand } from '../sql/leftovers.ts'
import { openStore, temporaryDirectory } from './bench.ts'

async function makeStand(): Promise<LeftoverStand> {
  const { directory, remove } = await temporaryDirectory()
  const clock = new VirtualClock()
  const stores = await Promise.all(['a', 'b'].map((queue) => openStore(directory, { clock, queue })))
  onTestFinished(async () => {
    for (const store of stores) await store.close()
    await remove()
  })
  return {
    stores,
    advance: (ms) => clock.advance(ms),
    rows: async (text) => {
      const connection = connect(path.join(directory, 'queue.db'))
      const found = connection.prepare(text).all()
      connection.close()
      return found.map((row) => Object.values(row as Record<string, string>).join(' '))
    },
    prefix: '',
    workers: 'owner',
    worker: 'name',
  }
}

test('remembered ids and workers whose time is over leave, of their own queue only', async () => {
  await expectLeftoversGone(await makeStand())
})

test('a worker that holds a lease stays, however long ago it was heard of', async () => {
  const { stores, advance, rows } = await makeStand()
  const [store] = stores
  if (store === undefined) throw new Error('no store')
  await store.put([message('held')])
  await claim(store, { owner: 'holder', limit: 1, leaseMs: 86_400_000 })
  await claim(store, { owner: 'idle', facts: 'none' })
  await advance(7_200_000)
  await claim(store, { owner: 'new', facts: 'none' })
  expect(await rows('SELECT name FROM owner ORDER BY 1')).toEqual(['holder', 'new'])
})
