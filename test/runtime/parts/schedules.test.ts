import { describe, expect, it } from 'vitest'
import { SCHEDULES_TOPIC } from '../../../src/core/control.ts'
import {
  encodeSchedule,
  NEW_PROGRESS,
  occurrenceId,
  scheduleId,
  type SchedulePlan,
  type ScheduleProgress,
} from '../../../src/core/recurrence/spec.ts'
import { spreadMs } from '../../../src/core/spread.ts'
import type { OwnEnd } from '../../../src/runtime/runs/lane.ts'
import { schedulesLane } from '../../../src/runtime/schedules.ts'
import type { NewMessage, Store } from '../../../src/store/contract/store.ts'
import { StoreWrapper } from '../../../src/store/contract/verbs.ts'
import { MemoryStore } from '../../../src/store/memory/store.ts'
import { VirtualClock } from '../../../src/testing/index.ts'
import { makeRun } from './runs.ts'

const MINUTE_MS = 60_000
const PLAN: SchedulePlan = {
  topic: 'tick',
  body: '"payload"',
  meta: 'policy',
  priority: 2,
  rhythm: { everyMs: MINUTE_MS },
  startAt: 0,
  catchUp: 'one',
  overlap: 'allow',
  spreadMs: 0,
}
/** The first minute is decided, and has fired. */
const PROGRESS: ScheduleProgress = { ...NEW_PROGRESS, until: MINUTE_MS, lastAt: MINUTE_MS, fired: 1 }
const { change: _, ...DECIDED } = PROGRESS

function makeLook() {
  const clock = new VirtualClock(0)
  const memory = new MemoryStore(clock)
  const inspected: unknown[] = []
  class Spy extends StoreWrapper {
    override inspect(query: Parameters<Store['inspect']>[0]): ReturnType<Store['inspect']> {
      inspected.push(query)
      return this.inner.inspect(query)
    }
  }
  const failures: [string, unknown][] = []
  const lane = schedulesLane({
    store: new Spy(memory),
    onFailure: (name, error) => void failures.push([name, error]),
  })
  const look = (payload: unknown, latenessMs = 0): Promise<OwnEnd> => {
    const facts = { dueAt: MINUTE_MS, firstDueAt: MINUTE_MS, latenessMs }
    const { lease } = makeRun(scheduleId('beat'), lane, facts)
    return lane.own?.(lease, payload, latenessMs) ?? Promise.reject(new Error('no lane of our own'))
  }
  const lookAt = (
    plan: Partial<SchedulePlan> = {},
    progress: Partial<ScheduleProgress> = {},
    latenessMs = 0,
  ) =>
    look(
      JSON.parse(encodeSchedule({ plan: { ...PLAN, ...plan }, progress: { ...DECIDED, ...progress } })),
      latenessMs,
    )
  return { failures, inspected, lane, look, lookAt, memory }
}

function occurrence(minute: number, spread = 0): NewMessage {
  const { topic, body, meta, priority } = PLAN
  const id = occurrenceId('beat', minute * MINUTE_MS)
  return { id, topic, body, meta, priority, when: { at: minute * MINUTE_MS + spread }, ifExists: 'keep' }
}

describe('P13: a look at a schedule', () => {
  it('is a message of our own, looked at by twenty at once, and never given up', () => {
    const { lane } = makeLook()
    expect(lane.topic).toBe(SCHEDULES_TOPIC)
    expect(lane.settings).toMatchObject({ concurrency: 20, timeoutMs: 30_000 })
    expect(lane.settings.retry.waits).toEqual({ baseMs: 1_000, factor: 2, capMs: 60_000, jitter: 0.2 })
  })

  it('stores what comes within its reach, and what it then knows, and is due again ahead of the next', async () => {
    const { inspected, lookAt } = makeLook()
    const { again, carried } = await lookAt({}, {}, 0.7)
    expect(carried.followUps).toEqual([occurrence(2)])
    expect(again).toEqual({ at: 2 * MINUTE_MS })
    expect(carried.content?.meta).toBe('')
    expect(JSON.parse(carried.content?.body ?? '')).toMatchObject({
      version: 1,
      plan: PLAN,
      progress: { fired: 2, lastAt: 2 * MINUTE_MS },
    })
    expect(inspected).toEqual([])
  })

  it('each occurrence is spread by its own id', async () => {
    const { lookAt } = makeLook()
    const { carried } = await lookAt({ spreadMs: 10_000 })
    const share = spreadMs(occurrenceId('beat', 2 * MINUTE_MS), 10_000)
    expect(share).toBeGreaterThan(0)
    expect(carried.followUps).toEqual([occurrence(2, share)])
  })

  it('one that ended stays, and is looked at in a year', async () => {
    const { lookAt } = makeLook()
    const { again, carried } = await lookAt({ times: 1 })
    expect([again, carried.followUps]).toEqual([{ at: MINUTE_MS + 365 * 86_400_000 }, []])
  })

  it('one that was removed is gone', async () => {
    const { lookAt } = makeLook()
    expect(await lookAt({}, { isRemoved: true })).toEqual({ again: undefined, carried: { followUps: [] } })
  })

  it('one of another version is reported by its name, and fails', async () => {
    const { failures, look } = makeLook()
    await expect(look({ version: 2 })).rejects.toThrow('the schedule "beat" was stored by another version')
    expect(failures).toMatchObject([['beat', { name: 'InvariantError' }]])
  })

  it.each([
    ['waits', true],
    ['runs', true],
    ['is dead', false],
    ['is gone', false],
  ])(
    'where overlaps are skipped and the last one %s: whether the next is skipped',
    async (state, isSkipped) => {
      const { inspected, lookAt, memory } = makeLook()
      if (state !== 'is gone') await memory.put([{ ...occurrence(1), when: { at: 0 } }])
      if (state === 'runs' || state === 'is dead') {
        const { leases } = await memory.claim({
          from: 'due',
          owner: 'me',
          wants: [{ topic: 'tick', limit: 1 }],
          limit: 1,
          bytesMax: 1_000,
          leaseMs: 10_000,
          leadMs: 0,
        })
        if (state === 'is dead')
          await memory.settle(
            leases.map(({ id, token, topic }) => ({ kind: 'dead', id, token, topic, reason: '', error: '' })),
          )
      }
      const { carried } = await lookAt({ overlap: 'skip' }, {}, MINUTE_MS)
      expect(inspected).toEqual([{ ids: [occurrenceId('beat', MINUTE_MS)] }])
      expect(carried.followUps).toEqual(isSkipped ? [] : [occurrence(2)])
    },
  )

  it('where overlaps are skipped, before the first there is nothing to look at', async () => {
    const { inspected, look } = makeLook()
    const schedule = {
      plan: { ...PLAN, overlap: 'skip' },
      progress: { ...NEW_PROGRESS, until: MINUTE_MS },
    } as const
    const { carried } = await look(JSON.parse(encodeSchedule(schedule)), MINUTE_MS)
    expect([inspected, carried.followUps]).toEqual([[], [occurrence(2)]])
  })
})
