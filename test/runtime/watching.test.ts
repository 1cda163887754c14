/** On a store that wakes some of its workers (`wakes: 'some'`), as Redis does: who has no room says so, and idle workers cost next to nothing. */
import { expect, it } from 'vitest'
import type { ClaimReply, ClaimRequest } from '../../src/store/contract/store.ts'
import { StoreWrapper } from '../../src/store/contract/verbs.ts'
import { ModelStore } from '../../simulation/world/model-store.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import { gate, makeWorld, type World } from './world.ts'

type WatchedWorld = World & { readonly claims: ClaimRequest[] }

function makeWatchedWorld(): WatchedWorld {
  const claims: ClaimRequest[] = []
  class Counted extends StoreWrapper {
    override claim(request: ClaimRequest): Promise<ClaimReply> {
      claims.push(request)
      return super.claim(request)
    }
  }
  const world = makeWorld(
    {},
    (clock) => new Counted(new ModelStore(() => clock.now(), { batchMax: 100, leadMs: 10 })),
  )
  let queues = 0
  // Each draws another name.
  const queue: World['queue'] = (options) => {
    queues += 1
    return world.queue({ random: new SeededRandom(queues), ...options })
  }
  return { ...world, queue, claims }
}

it('P9: what comes while one worker has no room is started by another, on time', async () => {
  const { clock, queue: make } = makeWatchedWorld()
  const [busy, idle] = [make({ concurrency: 1 }), make({ concurrency: 1 })]
  const { opened, open } = gate()
  const late: number[] = []
  for (const queue of [busy, idle])
    queue.handle('t', async ({ payload, latenessMs }) => {
      late.push(latenessMs)
      if (payload === 'long') await opened
    })
  await busy.start()
  await clock.advance('1s')
  await busy.produce('t', 'long')
  await clock.advance('1s')
  await idle.start()
  await clock.advance('1s')
  for (let i = 0; i < 5; i += 1) {
    await busy.produce('t', i, { delay: '3s' })
    await clock.advance('20s')
  }
  expect(late).toHaveLength(6)
  expect(Math.max(...late)).toBeLessThanOrEqual(1)
  open()
})

it('P9: a worker that stops resigns, once, and another has the watch', async () => {
  const { clock, claims, queue: make } = makeWatchedWorld()
  const [first, second] = [make(), make()]
  const late: number[] = []
  for (const queue of [first, second]) queue.handle('t', ({ latenessMs }) => void late.push(latenessMs))
  await first.start()
  await first.produce('t', 1, { delay: '1m' })
  await clock.advance('1s')
  await second.start()
  await clock.advance('1s')
  const stopping = first.stop()
  await clock.advance('1s')
  await stopping
  const resigned = claims.filter((request) => request.from === 'due' && request.limit === 0)
  expect(resigned.map((request) => 'wants' in request && request.wants)).toEqual([[]])
  await second.produce('t', 2, { delay: '10s' })
  await clock.advance('2m')
  expect(late).toHaveLength(2)
  expect(Math.max(...late)).toBeLessThanOrEqual(1)
})

/** Claims in two minutes in which nothing happens. */
async function idleClaims(workers: number): Promise<number> {
  const { clock, claims, queue: make } = makeWatchedWorld()
  for (let i = 0; i < workers; i += 1) {
    const queue = make()
    queue.handle('t', () => undefined)
    await queue.start()
  }
  await clock.advance('2m')
  claims.length = 0
  await clock.advance('2m')
  return claims.length
}

it('P10: idle workers look no more often than they would alone, and many of them share their looks', async () => {
  const [few, many] = [await idleClaims(2), await idleClaims(100)]
  expect(few).toBeLessThanOrEqual(2 * 24 + 2) // Each every five seconds.
  expect(many).toBeLessThanOrEqual(4 * 120 + 100) // All together four in a second.
})
