/** What is remembered of the past is what the store would say again. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { PastFigures } from '../../../src/doors/http/figures.ts'
import { MemoryStore } from '../../../src/store/memory/store.ts'
import { FaultyStore, VirtualClock } from '../../../src/testing/index.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

it('a past that is asked for again and again is told as if it were asked for the first time', async () => {
  const work = fc.record({
    minutes: fc.integer({ min: 1, max: 90 }),
    topic: fc.constantFrom('mail', 'order'),
    completed: fc.integer({ min: 0, max: 3 }),
    stepMs: fc.constantFrom(HOUR, 15 * MINUTE),
    asked: fc.constantFrom(undefined, 'mail'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(work, { minLength: 5, maxLength: 40 }), async (works) => {
      const clock = new VirtualClock(Date.UTC(2030, 0, 1))
      const store = new MemoryStore(clock)
      await store.open()
      const past = new PastFigures()
      for (const { minutes, topic, completed, stepMs, asked } of works) {
        await store.record([
          { topic, completed, failed: 0, dead: 1, skipped: 0, lateness: [[3, completed + 1]] },
        ])
        const hour = Math.floor(clock.now() / HOUR) * HOUR
        const question = { from: hour - 23 * HOUR, until: hour + HOUR, stepMs }
        const about = asked === undefined ? question : { ...question, topic: asked }
        const anew = await new PastFigures().read(store, about, clock.now())
        expect(await past.read(store, about, clock.now())).toEqual(anew)
        await clock.advance(minutes * MINUTE)
      }
      await store.close()
    }),
    { numRuns: 30 },
  )
})

it('of a day that is known only the hours that may change are read', async () => {
  const clock = new VirtualClock(Date.UTC(2030, 0, 1, 12))
  const store = new FaultyStore(new MemoryStore(clock), clock)
  await store.open()
  const asked: number[] = []
  store.fate = (verb, query) => {
    if (verb === 'figures') asked.push((query as { from: number }).from)
    return undefined
  }
  const past = new PastFigures()
  const noon = clock.now()
  const question = { from: noon - 23 * HOUR, until: noon + HOUR, stepMs: HOUR }
  for (let i = 0; i < 3; i += 1) {
    await past.read(store, question, clock.now())
    await clock.advance(15 * MINUTE)
  }
  // The hour before noon was over for a moment only when it was read first.
  expect(asked).toEqual([noon - 23 * HOUR, noon - HOUR, noon])
  // Hours that are all over are not asked for again.
  expect(await past.read(store, { ...question, until: noon }, clock.now())).toEqual({ rows: [] })
  expect(asked).toHaveLength(3)
  await store.close()
})
