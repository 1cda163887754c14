/**
 * Both queues stand still while messages are moved: they are paused, schedules included, and what runs in the source is
 * waited for. A lease whose worker is gone ends by itself; the mover then gives its message back, as a worker would.
 */
import type { Clock } from '../../clock.ts'
import { CONTROL_MARK, SCHEDULES_TOPIC, isControl } from '../../core/control.ts'
import { WHOLE_QUEUE } from '../../core/controls.ts'
import { UsageError } from '../../core/errors.ts'
import { decideLapse } from '../../core/machines/outcome.ts'
import { settlementFor } from '../../runtime/leases/settler.ts'
import type { Lease, Settlement, Store } from '../../store/contract/store.ts'
import type { Side } from './schedules.ts'
import { assertWhole } from './walking.ts'

const LOOK_MS = 250
const REAP_MAX = 100
const NAMED_MAX = 20

/** Pauses of the whole queue do not stop our own topics. */
const STOPPED = [WHOLE_QUEUE, SCHEDULES_TOPIC] as const

export async function standStill(store: Store): Promise<void> {
  for (const topic of STOPPED) await store.control({ kind: 'pause', topic })
}

export type WaitParts = {
  readonly store: Store
  readonly side: Side
  readonly clock: Clock
  readonly owner: string
  readonly leaseMs: number
  readonly waitMs: number
  readonly hold: () => Promise<void>
  readonly onWait: (running: number) => void
}

/**
 * Resolves when nothing runs that would be in the way. In the source every running message is; in the target only a worker
 * that looks at a schedule is. Rejects with MOVE_UNFINISHED when such a message still runs after `waitMs`.
 */
export async function waitForRunning(parts: WaitParts): Promise<void> {
  const { store, side, clock, hold, onWait, waitMs } = parts
  const givesUpAt = clock.monotonic() + waitMs
  for (;;) {
    await hold()
    await giveBackLapsed(parts)
    const running = side === 'source' ? await countRunning(store) : await countLooks(store)
    if (running === 0) return
    onWait(running)
    if (clock.monotonic() >= givesUpAt) throw await stillRunning(store, side, running)
    await new Promise<void>((resolve) => clock.schedule(LOOK_MS, resolve))
  }
}

export async function countRunning(store: Store): Promise<number> {
  const [counts, looks] = await Promise.all([store.count(), countLooks(store)])
  assertWhole(counts.missing)
  return counts.states.running + looks
}

async function countLooks(store: Store): Promise<number> {
  const { topics } = await store.countTopics({ topics: [SCHEDULES_TOPIC] })
  return topics[SCHEDULES_TOPIC]?.running ?? 0
}

/** Takes over what lapsed, and gives it back: due as before, its attempt counted. */
export async function giveBackLapsed({
  store,
  owner,
  leaseMs,
}: Pick<WaitParts, 'store' | 'owner' | 'leaseMs'>): Promise<void> {
  const limit = Math.min(REAP_MAX, store.capabilities.batchMax)
  for (;;) {
    const { leases } = await store.claim({ from: 'lapsed', owner, limit, leaseMs })
    if (leases.length === 0) return
    await store.settle(leases.map(givenBack))
  }
}

/** Attempts of our own topics are not counted. */
function givenBack(lease: Lease): Settlement {
  const { attempt, lapses } = lease
  const outcome = isControl(lease.topic)
    ? ({ kind: 'release' } as const)
    : decideLapse({ attempt, lapses, policy: undefined, chance: 0 })
  return settlementFor(lease, outcome)
}

async function stillRunning(store: Store, side: Side, running: number): Promise<UsageError> {
  const { items } = await store.inspect({
    state: 'running',
    limit: Math.min(NAMED_MAX, store.capabilities.batchMax),
  })
  const ids = items.map(({ id }) => id)
  const names = ids.map((id) => `"${id.replaceAll(CONTROL_MARK, '')}"`).join(', ')
  return new UsageError(
    'MOVE_UNFINISHED',
    `${running} still run in the ${side} (${names}); nothing that waits was taken from the source, and it stays paused. Run the same move again when they have ended, with a longer --wait, or "punctual resume" on the source to give up.`,
    { value: ids },
  )
}
