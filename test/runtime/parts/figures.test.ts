import { describe, expect, it } from 'vitest'
import { bucketOf } from '../../../src/core/metrics/lateness.ts'
import { Figures } from '../../../src/runtime/telling/figures.ts'
import { QueueMeter } from '../../../src/runtime/telling/meter.ts'
import type { TopicFigures } from '../../../src/store/contract/store.ts'
import { StoreWrapper } from '../../../src/store/contract/verbs.ts'
import { MemoryStore } from '../../../src/store/memory/store.ts'
import { VirtualClock } from '../../../src/testing/index.ts'
import { gate } from '../world.ts'

function makeFigures(batchMax = 100) {
  const clock = new VirtualClock()
  const calls: { at: number; figures: readonly TopicFigures[] }[] = []
  const failures: unknown[] = []
  const scene: { answer: () => Promise<void> } = { answer: async () => undefined }
  class Spy extends StoreWrapper {
    override record(figures: readonly TopicFigures[]): Promise<void> {
      calls.push({ at: clock.monotonic(), figures })
      return scene.answer()
    }
  }
  const meter = new QueueMeter()
  const store = new Spy(new MemoryStore(clock), { batchMax })
  const figures = new Figures({ clock, store, meter, onFailure: (error) => void failures.push(error) })
  const topicsOfCalls = (): string[] => calls.map((call) => call.figures.map(({ topic }) => topic).join(' '))
  return { calls, clock, failures, figures, meter, scene, topicsOfCalls }
}

describe('the figures of what ended', () => {
  it('are told a second after the first, topic by topic, with how many were how late', async () => {
    const { calls, clock, figures, meter } = makeFigures()
    figures.add('a', 'completed', 500, 10)
    await clock.advance(400)
    figures.add('a', 'completed', 3, 10)
    figures.add('a', 'failed', 3, 10)
    figures.add('a', 'skipped', undefined, 0)
    figures.add('b', 'dead', undefined, 0)
    await clock.advance(599)
    expect(calls).toEqual([])
    await clock.advance(1)
    const none = { completed: 0, failed: 0, dead: 0, skipped: 0 }
    expect(calls).toEqual([
      {
        at: 1_000,
        figures: [
          {
            topic: 'a',
            ...none,
            completed: 2,
            failed: 1,
            skipped: 1,
            lateness: [
              [bucketOf(3), 2],
              [bucketOf(500), 1],
            ],
          },
          { topic: 'b', ...none, dead: 1, lateness: [] },
        ],
      },
    ])
    expect(meter.topic('a').ended).toEqual({ ...none, completed: 2, failed: 1, skipped: 1 })
    expect(clock.pendingTimers).toBe(0)
    figures.add('a', 'completed', 3, 10)
    await clock.advance(1_000)
    expect(calls[1]).toMatchObject({
      at: 2_000,
      figures: [{ topic: 'a', completed: 1, lateness: [[bucketOf(3), 1]] }],
    })
  })

  it('P10: no more topics in a call than one takes, one call after the other', async () => {
    const { clock, figures, scene, topicsOfCalls } = makeFigures(2)
    const { opened, open } = gate()
    scene.answer = () => opened
    for (const topic of ['a', 'b', 'c', 'd', 'e']) figures.add(topic, 'completed', 0, 0)
    await clock.advance(1_000)
    figures.add('f', 'completed', 0, 0)
    await clock.advance(1_000)
    expect(topicsOfCalls()).toEqual(['a b'])
    open()
    await clock.settle()
    expect(topicsOfCalls()).toEqual(['a b', 'c d', 'e', 'f'])
  })

  it('a flush sends what there is at once, waits for what is under way, and leaves no timer', async () => {
    const { clock, figures, scene, topicsOfCalls } = makeFigures()
    const { opened, open } = gate()
    scene.answer = () => opened
    figures.add('a', 'completed', 0, 0)
    let isDone = false
    const first = figures.flush()
    const second = figures.flush().then(() => (isDone = true))
    await clock.settle()
    expect([topicsOfCalls(), isDone, clock.pendingTimers]).toEqual([['a'], false, 0])
    open()
    await Promise.all([first, second])
    await figures.flush() // There is nothing more to tell.
    expect(topicsOfCalls()).toEqual(['a'])
  })

  it('those whose call fails are dropped, and the next go on', async () => {
    const { clock, failures, figures, scene, topicsOfCalls } = makeFigures(1)
    const away = new Error('away')
    scene.answer = () => Promise.reject(away)
    for (const topic of ['a', 'b']) figures.add(topic, 'completed', 0, 0)
    await figures.flush()
    expect([failures, topicsOfCalls()]).toEqual([[away], ['a']])
    scene.answer = async () => undefined
    figures.add('c', 'completed', 0, 0)
    await clock.advance(1_000)
    expect([failures.length, topicsOfCalls()]).toEqual([1, ['a', 'c']])
  })

  it('P11: what comes after the end is dropped, and no timer is left', async () => {
    const { calls, clock, figures, meter } = makeFigures()
    figures.add('a', 'completed', 0, 0)
    figures.end()
    figures.add('a', 'completed', 0, 0)
    expect([clock.pendingTimers, meter.topic('a').ended.completed]).toEqual([0, 1])
    await clock.advance('1m')
    expect(calls).toEqual([])
  })
})
