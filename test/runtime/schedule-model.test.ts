/** P13 under random edits, against a list of owed moments: each fires once, and what fell into a pause is counted. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Punctual } from '../../src/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { StoreWrapper } from '../../src/store/contract/verbs.ts'
import { MemoryStore } from '../../src/store/memory/store.ts'
import type { VirtualClock } from '../../src/testing/index.ts'
import { RHYTHMS, ScheduleModel, type Edit, type Rhythm } from './schedule-model.ts'
import { makeWorld } from './world.ts'

const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.record({
    kind: fc.constant('set' as const),
    rhythm: fc.constantFrom<Rhythm>('a', 'b', 'minute'),
    payload: fc.nat({ max: 1 }),
  }),
  fc.record({ kind: fc.constantFrom('remove' as const, 'pause' as const, 'resume' as const) }),
  fc.record({ kind: fc.constantFrom('pause topic' as const, 'resume topic' as const) }),
)
/** Seconds until the next; never at a moment of a rhythm. */
const pauses = fc.oneof(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 20, max: 200 }))
const story = fc.array(fc.tuple(edit, pauses), { minLength: 2, maxLength: 12 })

async function make(queue: Punctual, one: Edit): Promise<void> {
  switch (one.kind) {
    case 'set': {
      const { rhythm, payload } = one
      await queue.schedules.set('beat', { topic: 'tick', payload, ...RHYTHMS[rhythm] })
      return
    }
    case 'pause topic':
      return queue.pause('tick')
    case 'resume topic':
      return queue.resume('tick')
    default:
      await queue.schedules[one.kind]('beat')
  }
}

/** So long a removal takes until it is done. */
const REMOVAL_MS = 40

class SlowRemovals extends StoreWrapper {
  readonly #clock: VirtualClock

  constructor(inner: Store, clock: VirtualClock) {
    super(inner)
    this.#clock = clock
  }

  override async remove(...asked: Parameters<Store['remove']>): ReturnType<Store['remove']> {
    await new Promise<void>((resolve) => this.#clock.schedule(REMOVAL_MS, resolve))
    return this.inner.remove(...asked)
  }
}

async function makeStand(makeStore: (clock: VirtualClock) => Store = (clock) => new MemoryStore(clock)) {
  const world = makeWorld(undefined, makeStore)
  const queues = [world.queue({ retry: { limit: 0 } }), world.queue()] as const
  const fired: number[] = []
  const runs: string[] = []
  const [queue] = queues
  queue.handle('tick', ({ dueAt, id }) => void (fired.push(dueAt), runs.push(id)))
  await queue.start()
  await world.clock.advance(500)
  const end = async (): Promise<void> => {
    expect(new Set(runs).size).toBe(runs.length)
    await queue.stop()
  }
  return { end, fired, queue, queues, world }
}

function sorted(moments: readonly number[]): number[] {
  return moments.toSorted((a, b) => a - b)
}

/** The rhythm before has fewer moments in the same time, and shares some with the new one. */
const SHARED_MOMENTS: [Edit, Edit, number][] = [
  [{ kind: 'pause topic' }, { kind: 'set', rhythm: 'b', payload: 0 }, 0],
  [{ kind: 'set', rhythm: 'a', payload: 0 }, { kind: 'pause' }, 0],
]

describe('P13: a schedule under random edits', () => {
  it('fires each moment at which it was active once, and counts as skipped what fell into its pauses', async () => {
    await fc.assert(
      fc.asyncProperty(story, async (edits) => {
        const { end, fired, queue, world } = await makeStand()
        const model = new ScheduleModel()
        for (const [one, seconds] of edits) {
          model.edit(one, world.clock.now())
          await make(queue, one)
          await world.clock.advance(seconds * 1_000)
        }
        await queue.resume('tick')
        await world.clock.advance(1_000)
        model.end(world.clock.now())
        expect(sorted(fired)).toEqual(model.owed)
        const found = await queue.schedules.get('beat')
        const waiting = (await queue.stats()).counts.delayed
        const { owedOfLife, skipped, hasChanged } = model
        if (found !== undefined && hasChanged) expect(found.skipped).toBeGreaterThanOrEqual(skipped.length)
        else if (found !== undefined)
          expect([found.skipped, found.fired]).toEqual([skipped.length, owedOfLife.length + waiting])
        await end()
      }),
      { numRuns: 200 },
    )
  }, 120_000)

  it('edited by two processes at once, it fires each moment after the last edit once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(edit, edit, pauses), { maxLength: 8 }), async (rounds) => {
        const { end, fired, queue, queues, world } = await makeStand(
          (clock) => new SlowRemovals(new MemoryStore(clock), clock),
        )
        for (const [one, other, seconds] of rounds) {
          const first = make(queues[0], one)
          await world.clock.advance(REMOVAL_MS / 2)
          const edits = Promise.all([first, make(queues[1], other)])
          await world.clock.advance(3 * REMOVAL_MS + seconds * 1_000)
          await edits
        }
        const last = [{ kind: 'set', rhythm: 'a', payload: 2 }, { kind: 'resume' }] as const
        const model = new ScheduleModel()
        for (const one of last) {
          const made = make(queue, one)
          await world.clock.advance(2 * REMOVAL_MS)
          await made
          model.edit(one, world.clock.now())
        }
        await queue.resume('tick')
        const from = world.clock.now()
        await world.clock.advance(200_000)
        model.end(world.clock.now())
        expect(sorted(fired).filter((at) => at > from)).toEqual(model.owed)
        await end()
      }),
      { numRuns: 200, examples: [[SHARED_MOMENTS]] },
    )
  }, 120_000)
})
