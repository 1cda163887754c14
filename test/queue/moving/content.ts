/** A queue with one of everything that a move must carry, and what is seen of a queue afterwards. */
import { SCHEDULES_TOPIC } from '../../../src/core/control.ts'
import type { ControlState, RestoredMessage, Settlement, Store } from '../../../src/store/contract/store.ts'
import { recordOf } from '../../../src/queue/moving/record.ts'
import { KINDS, pagesOf, type Kind } from '../../../src/queue/moving/walking.ts'
import { claimDue, claimOne, dead, lapse, message, retry } from '../../../src/testing/conformance/stand.ts'

export const HOUR_MS = 3_600_000
const PUT_MAX = 100
const DAY_MS = 24 * HOUR_MS

/** Schedules as they are stored: the move must not care what is in them. */
const SCHEDULE = { topic: SCHEDULES_TOPIC, body: '{"plan":1}', priority: 0 } as const

export async function fill(store: Store, plain = 5): Promise<void> {
  await store.put([message('retried', { meta: '{"retry":{}}', priority: 2, tags: ['t', 'ü'] })])
  await store.settle([lapse(await claimOne(store), 'gone')])
  await store.settle([retry(await claimOne(store), HOUR_MS, 'boom \u2400')])
  await store.put([message('buried', { tags: ['t'] }), message('expired')])
  const buried = await claimDue(store)
  await store.settle(buried.map((lease) => dead(lease, lease.id === 'expired' ? 'expired' : 'failed')))
  await store.put([message('finished', { when: { delayMs: 0 } }), message('skipped')])
  await store.settle((await claimDue(store)).map(remembered))
  await store.put([
    message('\u0001schedule:nightly', { ...SCHEDULE, when: { delayMs: DAY_MS } }),
    message('ready', { topic: 'other', priority: 0 }),
  ])
  const body = JSON.stringify({ text: 'é\n' })
  const when = { delayMs: HOUR_MS }
  for (let from = 0; from < plain; from += PUT_MAX) {
    const count = Math.min(PUT_MAX, plain - from)
    await store.put(
      Array.from({ length: count }, (_, index) => message(`m${plain - from - index}`, { body, when })),
    )
  }
}

function remembered({ id, token, topic }: { id: string; token: string; topic: string }): Settlement {
  const outcome = id === 'skipped' ? 'skipped' : 'completed'
  return { kind: 'ack', id, token, topic, remember: { ms: DAY_MS, outcome, result: '{"a":1}' } }
}

export type Seen = Readonly<Record<Kind, readonly RestoredMessage[]>>

/** All that a queue holds, in its order; the state only as far as the clock does not decide it. */
export async function see(store: Store): Promise<Seen> {
  const seen: Record<Kind, RestoredMessage[]> = { schedules: [], waiting: [], dead: [], remembered: [] }
  for (const kind of KINDS) {
    for await (const page of pagesOf(store, kind, 100)) {
      for (const item of page) {
        const record = recordOf(item)
        seen[kind].push({ ...record, state: record.state === 'delayed' ? 'ready' : record.state })
      }
    }
    seen[kind].sort((a, b) => (a.id < b.id ? -1 : 1))
  }
  return seen
}

export function idsIn(seen: Seen): string[] {
  return KINDS.flatMap((kind) => seen[kind].map(({ id }) => id)).toSorted()
}

export async function controlsOf(store: Store): Promise<readonly ControlState[]> {
  return (await store.controls()).controls.toSorted((a, b) => (a.topic < b.topic ? -1 : 1))
}
