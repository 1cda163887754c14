/** Runs and lanes without a queue around them. */
import { RETRY_DEFAULT } from '../../../src/core/input/handle-options.ts'
import { QUEUED, type RunState } from '../../../src/core/machines/run.ts'
import { Lane, type OwnEnd } from '../../../src/runtime/runs/lane.ts'
import { Lanes } from '../../../src/runtime/runs/lanes.ts'
import { Run, type RunSource } from '../../../src/runtime/runs/run.ts'
import type { Lease } from '../../../src/store/contract/store.ts'

export function makeLane(topic: string, concurrency = 10): Lane {
  return new Lane(topic, () => undefined, { concurrency, timeoutMs: 1_000, retry: RETRY_DEFAULT })
}

/** Of our own messages. */
export function makeOwn(topic: string, concurrency = 10): Lane {
  const end: OwnEnd = { again: undefined, carried: { followUps: [] } }
  return new Lane(topic, () => undefined, makeLane(topic, concurrency).settings, { own: async () => end })
}

export function makeLanes(slots: number, lanes: readonly Lane[]): Lanes {
  const all = new Lanes(slots)
  for (const lane of lanes) all.add(lane)
  return all
}

export type RunFacts = Partial<Lease> & { startsAt?: number; leaseEndsAt?: number; state?: RunState }

/** Nothing is asked of it by the parts under test. */
const SOURCE = {} as RunSource

export function makeRun(id: string, lane: Lane, facts: RunFacts = {}): Run {
  const { startsAt = 0, leaseEndsAt = 10_000, state = QUEUED, ...lease } = facts
  return new Run(
    {
      id,
      token: `token of ${id}`,
      topic: lane.topic,
      body: '',
      meta: '',
      priority: 1,
      dueAt: 0,
      firstDueAt: 0,
      attempt: 1,
      lapses: 0,
      latenessMs: 0,
      ...lease,
    },
    lane,
    {},
    { source: SOURCE, state, startsAt, leaseEndsAt },
  )
}
