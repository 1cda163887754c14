/** What the demo schedules: the classic test of order, and many more at moments left to chance. */
import type { ProduceEntry } from '../../../index.ts'
import type { Random } from '../../../random.ts'

export const ORDER_TOPIC = 'demo.order'
export const CHANCE_TOPIC = 'demo.chance'

/** Sent longest delay first: a queue that looks only at its head would deliver all of them after five seconds. */
export const ORDER_SECONDS = [5, 4, 3, 2, 1] as const

export type Plan = { readonly count: number; readonly spanMs: number }

export function planMessages({ count, spanMs }: Plan, random: Random): ProduceEntry<string, unknown>[] {
  const inOrder = ORDER_SECONDS.map((seconds) => ({
    topic: ORDER_TOPIC,
    payload: { seconds },
    delay: seconds * 1_000,
  }))
  const byChance = Array.from({ length: count }, (_, number) => ({
    topic: CHANCE_TOPIC,
    payload: { number },
    delay: Math.round(random.next() * spanMs),
  }))
  return [...inOrder, ...byChance]
}
