/** Failures that nobody listens to are seen in the log; figures reach the store. */
import { describe, expect, it } from 'vitest'
import { DeadLetter } from '../../src/index.ts'
import { makeWorld } from './world.ts'

function makeLog() {
  const lines: string[] = []
  const logger = {
    warn: (line: string) => void lines.push(`warn ${line}`),
    error: (line: string) => void lines.push(`error ${line}`),
  }
  return { lines, logger }
}

describe('the log', () => {
  it('shows the first dead letter of a topic and minute in full, then how many more', async () => {
    const { clock, queue: make } = makeWorld()
    const { lines, logger } = makeLog()
    const queue = make({ logger })
    queue.handle('mail', ({ payload }) => {
      throw payload === 'x' ? new DeadLetter('no such order') : new Error('boom\nsecond line')
    })
    await queue.start()
    await queue.produce('mail', 'x', { id: 'first' })
    await clock.settle()
    expect(lines).toEqual(['error dead letter: mail first, attempt 1, DeadLetter: no such order'])
    for (let i = 0; i < 3; i += 1) await queue.produce('mail', 'x')
    await clock.settle()
    expect(lines).toHaveLength(1)
    await clock.advance('1m')
    expect(lines.slice(1)).toEqual(['error 3 more dead letters: mail'])
    await queue.produce('mail', 'x', { id: 'later' })
    await clock.advance('5m')
    expect(lines.slice(2)).toEqual(['error dead letter: mail later, attempt 1, DeadLetter: no such order'])
  })

  it('shows why an ordinary failure ended among the dead letters, and one line per minute for retries', async () => {
    const { clock, queue: make } = makeWorld()
    const { lines, logger } = makeLog()
    const queue = make({ logger, retry: { limit: 1, delays: ['10s'] } })
    queue.handle('mail', () => {
      throw new Error('boom\nsecond line')
    })
    await queue.start()
    for (const id of ['a', 'b', 'c']) await queue.produce('mail', null, { id })
    await clock.settle()
    expect(lines).toEqual(['warn mail a failed, attempt 1, again in 10s: Error: boom'])
    await clock.advance('11s')
    expect(lines.slice(1)).toEqual(['error dead letter: mail a, attempt 2, failed: Error: boom'])
    await queue.stop()
    expect(lines.slice(2)).toEqual(['error 2 more dead letters: mail'])
    expect(clock.pendingTimers).toBe(0)
  })

  it('a topic that fails does not hide another', async () => {
    const { clock, queue: make } = makeWorld()
    const { lines, logger } = makeLog()
    const queue = make({ logger })
    for (const topic of ['a', 'b'])
      queue.handle(topic, () => Promise.reject(new DeadLetter(`${topic} is broken`)))
    await queue.start()
    for (const topic of ['a', 'b']) await queue.produce(topic, null, { id: topic })
    await clock.settle()
    expect(lines).toEqual([
      'error dead letter: a a, attempt 1, DeadLetter: a is broken',
      'error dead letter: b b, attempt 1, DeadLetter: b is broken',
    ])
  })

  it('is silent with logger: false, and a logger needs only warn and error', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ logger: false })
    queue.handle('t', () => Promise.reject(new DeadLetter('no')))
    await queue.start()
    await queue.produce('t', null)
    await clock.settle()
    expect((await queue.stats()).counts.dead).toBe(1)
    expect(() => make({ logger: { warn: () => undefined } as never })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    )
  })
})

describe('figures', () => {
  it('what ended reaches the store: at most once a second, by topic, with lateness; the rest at the stop', async () => {
    const { clock, memory, store, queue: make } = makeWorld()
    const queue = make({ retry: { limit: 1, delays: ['5s'] } })
    queue.handle('good', () => undefined)
    queue.handle('bad', () => Promise.reject(new Error('no')))
    await queue.start()
    const records = (): number => store.calls.filter((verb) => verb === 'record').length
    for (let i = 0; i < 40; i += 1) {
      await queue.produce('good', i)
      await clock.advance(50)
    }
    await queue.produce('bad', null)
    expect(records()).toBeLessThanOrEqual(2)
    await clock.advance('6s')
    await queue.produce('good', null)
    await clock.settle()
    const before = records()
    await queue.stop()
    expect(records()).toBe(before + 1)
    const { rows } = await memory.figures({ from: clock.now() - 3_600_000, until: clock.now() + 60_000 })
    const sum = (topic: string, key: 'completed' | 'failed' | 'dead'): number =>
      rows.filter((row) => row.topic === topic).reduce((total, row) => total + row[key], 0)
    expect([sum('good', 'completed'), sum('bad', 'failed'), sum('bad', 'dead')]).toEqual([41, 1, 1])
    const late = rows.flatMap(({ lateness }) => lateness).reduce((total, [, count]) => total + count, 0)
    expect(late).toBe(43)
    expect(clock.pendingTimers).toBe(0)
  })

  it('a call that fails is reported, and costs nothing else', async () => {
    const { clock, store, queue: make } = makeWorld()
    const queue = make()
    const errors: string[] = []
    queue.on('error', ({ message }) => errors.push(message)).handle('t', () => undefined)
    await queue.start()
    store.fate = (verb) => (verb === 'record' ? { kind: 'refuse' } : undefined)
    await queue.produce('t', null)
    await clock.advance('10s')
    expect(errors).toHaveLength(1)
    expect((await queue.stop()).errors).toEqual([])
  })
})
