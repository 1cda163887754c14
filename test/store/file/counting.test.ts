/** Counting what is ready: exact at any moment, however the clock moves, without walking everything each time. */
import * as fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { takeCensus } from '../../../src/testing/census.ts'
import { ack, claimDue, message } from '../../../src/testing/conformance/stand.ts'
import { VirtualClock } from '../../../src/testing/virtual-clock.ts'
import { openStore, temporaryDirectory, type TemporaryDirectory } from './bench.ts'

let place: TemporaryDirectory
beforeEach(async () => void (place = await temporaryDirectory()))
afterEach(() => place.remove())

test('a backlog that came due unseen is counted exactly, then and later', async () => {
  const clock = new VirtualClock()
  const store = await openStore(place.directory, { clock })
  for (let batch = 0; batch < 6; batch += 1) {
    await store.put(
      Array.from({ length: 1000 }, (_, i) =>
        message(`${batch}-${i}`, { when: { delayMs: 1 + batch * 1000 + i } }),
      ),
    )
  }
  await clock.advance(4500)
  expect((await store.count()).states).toMatchObject({ ready: 4500, delayed: 1500 })
  await store.settle((await claimDue(store, 500)).map(ack))
  expect((await store.count()).states).toMatchObject({ ready: 4000, delayed: 1500 })
  clock.jump(-2000)
  expect((await store.count()).states).toMatchObject({ ready: 2000, delayed: 3500 })
  await clock.advance(10_000)
  expect((await store.count()).states).toMatchObject({ ready: 5500, delayed: 0 })
  await takeCensus(store)
  await store.close()
})

test('the census adds up after any sequence of calls and clock movements', async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('put' as const), id: fc.nat(9), delayMs: fc.nat(50), priority: fc.nat(2) }),
    fc.record({ do: fc.constant('claim' as const), limit: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ do: fc.constant('reschedule' as const), id: fc.nat(9), delayMs: fc.nat(50) }),
    fc.record({ do: fc.constant('remove' as const), id: fc.nat(9) }),
    fc.record({ do: fc.constant('jump' as const), ms: fc.integer({ min: -40, max: 40 }) }),
  )
  let runs = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const clock = new VirtualClock()
      runs += 1
      const store = await openStore(place.directory, { clock, queue: `run ${runs}` })
      for (const move of steps) {
        if (move.do === 'put') {
          const priority = move.priority as 0 | 1 | 2
          await store.put([
            message(`${move.id}`, { priority, when: { delayMs: move.delayMs }, ifExists: 'replace' }),
          ])
        } else if (move.do === 'claim') {
          const [first, second] = await claimDue(store, move.limit)
          if (first !== undefined) await store.settle([ack(first)])
          if (second !== undefined) await store.settle([{ ...ack(second), kind: 'release' }])
        } else if (move.do === 'reschedule') {
          await store.reschedule([{ id: `${move.id}`, when: { delayMs: move.delayMs } }])
        } else if (move.do === 'remove') {
          await store.remove([`${move.id}`], 'waiting')
        } else {
          clock.jump(move.ms)
        }
        await store.count()
      }
      await takeCensus(store)
      await store.close()
    }),
    { numRuns: 40 },
  )
})
