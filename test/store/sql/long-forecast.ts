/** Where more waits than is counted for a forecast, a sample is multiplied: near the truth, and said to be an estimate. */
import { expect } from 'vitest'
import type { NewMessage, Store } from '../../../src/store/contract/store.ts'
import { claimDue, dead, message } from '../../../src/testing/conformance/stand.ts'
import { settle } from '../settle.ts'

const START = Date.UTC(2050, 0, 1)
const HOUR = 3_600_000
/** All that is there is copied so often: 1,000 become 256,000. */
const DOUBLINGS = 8
const COPIES = 2 ** DOUBLINGS

export type LongDatabase = {
  readonly store: Store
  readonly prefix: string
  /** The next number of a message; undefined: the table numbers by itself. */
  readonly nextSeq: string | undefined
  readonly query: (text: string) => Promise<unknown>
}

/** Of ten messages one is dead, one of another topic and due in the second hour, four are due in the first, four in the third. */
function put(i: number): NewMessage {
  const topic = ['dies', 'other'][i % 10] ?? 'long'
  const hour = i % 10 === 1 ? 1 : (i % 2) * 2
  return message(`m${i}`, {
    topic,
    when: topic === 'dies' ? { delayMs: 0 } : { at: START + hour * HOUR + i },
  })
}

export async function expectEstimates({ store, prefix, nextSeq, query }: LongDatabase): Promise<void> {
  await store.put(Array.from({ length: 1_000 }, (_, i) => put(i)))
  const dying = await claimDue(store, 100, ['dies'])
  await settle(
    store,
    dying.map((lease) => dead(lease)),
  )
  const copied = 'queue, state, priority, due_at, produced_at, topic, meta, body'
  const [column, value] = nextSeq === undefined ? ['', ''] : [', seq', `, ${nextSeq}`]
  for (let n = 0; n < DOUBLINGS; n += 1)
    await query(`insert into ${prefix}message (${copied}, id${column})
      select ${copied}, concat(id, '.${n}')${value} from ${prefix}message order by seq`)
  await query(`insert into ${prefix}delta (queue, topic, waiting, running, dead)
    select queue, topic, ${COPIES - 1} * sum(waiting), 0, ${COPIES - 1} * sum(dead) from (
      select queue, topic, waiting, dead from ${prefix}delta
      union all select queue, topic, waiting, dead from ${prefix}total where topic <> '') s group by queue, topic`)
  const edges = [0, 1, 2, 3, 4].map((hour) => START + hour * HOUR)
  for (const [asked, expected] of [
    [{ edges }, [400, 100, 400, 0]],
    [{ edges, topic: 'long' }, [400, 0, 400, 0]],
  ] as const) {
    const { counts, isExact } = await store.forecast(asked)
    expect(isExact).toBe(false)
    for (const [bar, n] of expected.entries()) {
      const share = (counts[bar] ?? -1) / COPIES
      expect(Math.abs(share - n), `bar ${bar}: ${share} instead of ${n}`).toBeLessThanOrEqual(n / 5)
    }
  }
  expect(await store.forecast({ edges, topic: 'other' })).toEqual({
    counts: [0, 100 * COPIES, 0, 0],
    isExact: true,
  })
}
