/** P2: many messages of different kinds, in one transaction of the user's own: each is stored as it was given. */
import { expect } from 'vitest'
import type { Punctual } from '../../../src/index.ts'

const KINDS = [
  { topic: 'a', payload: 1, id: 'x', delay: '1h', priority: 'high', tag: ['red'] },
  { topic: 'b', payload: { n: 2 }, id: 'y', at: new Date('2040-01-01'), tag: ['blue', 'green'] },
  { topic: 'c', payload: 'three', id: 'z', delay: '2h', priority: 'low' },
] as const

export async function expectManyKinds(
  queue: Punctual,
  db: { query(text: string): Promise<unknown> },
): Promise<void> {
  await db.query('begin')
  await queue.produceMany(KINDS, { transaction: db as never })
  await db.query('commit')
  for (const { topic, payload, id, ...rest } of KINDS) {
    const found = await queue.get(id)
    expect(found).toMatchObject({ topic, payload })
    expect(found?.tags).toEqual('tag' in rest ? rest.tag : undefined)
    expect(found?.priority).toBe('priority' in rest ? rest.priority : 'normal')
    const delayMs = (found?.dueAt ?? 0) - (found?.producedAt ?? 0)
    if ('at' in rest) expect(found?.dueAt).toBe(rest.at.getTime())
    else expect(Math.round(delayMs)).toBe(rest.delay === '1h' ? 3_600_000 : 7_200_000)
  }
}
