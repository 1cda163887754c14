/** What is no longer needed leaves the file, of its own queue and of no other. */
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Store } from '../../../src/store/contract/store.ts'
import { connect } from '../../../src/store/file/database/driver.ts'
import { claim, claimDue, message } from '../../../src/testing/conformance/stand.ts'
import { VirtualClock } from '../../../src/testing/virtual-clock.ts'
import { openStore, temporaryDirectory, type TemporaryDirectory } from './bench.ts'

const HOUR_MS = 3_600_000

let place: TemporaryDirectory
let clock: VirtualClock
let stores: readonly Store[]
beforeEach(async () => {
  place = await temporaryDirectory()
  clock = new VirtualClock()
  stores = await Promise.all(['a', 'b'].map((queue) => openStore(place.directory, { clock, queue })))
})
afterEach(async () => {
  for (const store of stores) await store.close()
  await place.remove()
})

/** By name of their queue. */
function names(sql: string): string[] {
  const connection = connect(path.join(place.directory, 'queue.db'))
  const found = connection.prepare(sql).all()
  connection.close()
  return found.map((row) => Object.values(row as Record<string, string>).join(' '))
}

test('remembered ids whose time is over, with the next facts of a worker', async () => {
  for (const store of stores) {
    await store.put(['over', 'kept'].map((id) => message(id)))
    const leases = await claimDue(store)
    await store.settle(
      leases.map((lease) => ({
        ...lease,
        kind: 'ack',
        remember: { ms: lease.id === 'over' ? 1_000 : HOUR_MS, outcome: 'completed', result: '' },
      })),
    )
  }
  const remembered = (): string[] =>
    names('SELECT queue.name, id FROM message JOIN queue USING (queue) WHERE state = 3 ORDER BY 1, 2')
  await clock.advance(1_000)
  expect(remembered()).toEqual(['a kept', 'a over', 'b kept', 'b over'])
  for (const [i, left] of [
    ['a kept', 'b kept', 'b over'],
    ['a kept', 'b kept'],
  ].entries()) {
    await claim(stores[i] as Store, { facts: 'new' })
    expect(remembered()).toEqual(left)
  }
})

test('workers that were not heard of for an hour and hold no lease, with the next new one', async () => {
  for (const store of stores) {
    await store.put([message('held')])
    await claim(store, { owner: 'holder', limit: 1, leaseMs: 24 * HOUR_MS })
    await claim(store, { owner: 'idle', facts: 'none' })
  }
  await clock.advance(2 * HOUR_MS)
  await claim(stores[0] as Store, { owner: 'new', facts: 'none' })
  expect(
    names('SELECT queue.name, owner.name AS worker FROM owner JOIN queue USING (queue) ORDER BY 1, 2'),
  ).toEqual(['a holder', 'a new', 'b holder', 'b idle'])
})
