import { describe, expect, it } from 'vitest'
import { FOREVER, WHOLE_QUEUE } from '../../../src/core/controls.ts'
import { Controls, PauseBook } from '../../../src/runtime/claiming/controls.ts'
import type { Consumers } from '../../../src/runtime/consumers.ts'
import type { Lane } from '../../../src/runtime/runs/lane.ts'
import type { RunSource } from '../../../src/runtime/runs/run.ts'
import { Events } from '../../../src/runtime/telling/events.ts'
import { QueueMeter } from '../../../src/runtime/telling/meter.ts'
import type { Capabilities, ControlsReply } from '../../../src/store/contract/store.ts'
import { StoreWrapper } from '../../../src/store/contract/verbs.ts'
import { MemoryStore } from '../../../src/store/memory/store.ts'
import { VirtualClock } from '../../../src/testing/index.ts'
import { gate } from '../world.ts'
import { makeLane, makeLanes } from './runs.ts'

type Pauses = Readonly<Record<string, number>>

/** What is paused until when, by the clock of the store. */
function reply(pauses: Pauses, now = 0): ControlsReply {
  const controls = Object.entries(pauses).map(([topic, pausedUntil]) => ({ topic, pausedUntil }))
  return { now, controls }
}

function makeControls(capabilities: Partial<Capabilities> = {}) {
  const clock = new VirtualClock()
  const heard: string[] = []
  const told: unknown[] = []
  const asked: number[] = []
  const scene: { answer: () => Promise<ControlsReply> } = { answer: async () => reply({}) }
  class Spy extends StoreWrapper {
    override controls(): Promise<ControlsReply> {
      asked.push(clock.monotonic())
      return scene.answer()
    }
  }
  const events = new Events({ warn: () => undefined, error: () => undefined }, new QueueMeter())
  for (const name of ['paused', 'resumed'] as const) events.on(name, (event) => told.push([name, event]))
  const source = {} as RunSource
  const controls = new Controls({
    clock,
    store: new Spy(new MemoryStore(clock), capabilities),
    source,
    book: new PauseBook(events),
    lanes: makeLanes(10, [makeLane('a'), makeLane('b')]),
    consumers: {
      pause: (lane: Lane, from: RunSource, seenAt: number) =>
        void heard.push(`pause ${lane.topic} ${from === source} ${seenAt}`),
    } as Consumers,
    onFailure: (error) => void heard.push(`failure ${String(error)}`),
  })
  return { asked, clock, controls, heard, scene, told }
}

describe('P14: pauses, as a worker hears of them', () => {
  it('what waits here of a paused topic goes back; of the whole queue, everything', async () => {
    const { clock, controls, heard, scene, told } = makeControls()
    controls.look()
    await clock.settle()
    expect([heard, told]).toEqual([[], []])
    scene.answer = async () => reply({ b: FOREVER })
    controls.look()
    await clock.settle()
    expect(heard).toEqual(['pause b true 0'])
    scene.answer = async () => reply({ [WHOLE_QUEUE]: FOREVER })
    controls.look()
    await clock.settle()
    expect(heard.slice(1)).toEqual(['pause a true 0', 'pause b true 0'])
    expect(told).toEqual([
      ['paused', { topic: 'b' }],
      ['paused', {}],
      ['resumed', { topic: 'b' }],
    ])
    expect(clock.pendingTimers).toBe(0)
  })

  it('a limit is no pause', async () => {
    const { clock, controls, heard, scene, told } = makeControls()
    scene.answer = async () =>
      ({ now: 0, controls: [{ topic: 'a', concurrency: 1 }] }) as unknown as ControlsReply
    controls.look()
    await clock.settle()
    expect([heard, told, clock.pendingTimers]).toEqual([[], [], 0])
  })

  it('the first pause that ends by itself is looked for at its end, and a millisecond after', async () => {
    const { asked, clock, controls, scene, told } = makeControls()
    scene.answer = async () => reply({ a: 1_500, b: 9_000 }, 1_000)
    controls.look()
    await clock.advance(500)
    expect(asked).toEqual([0])
    scene.answer = async () => reply({ b: 9_000 }, 1_501)
    await clock.advance(1)
    expect(asked).toEqual([0, 501])
    scene.answer = async () => reply({}, 9_001)
    await clock.advance(7_500)
    expect(asked).toEqual([0, 501, 8_001])
    expect(told).toEqual([
      ['paused', { topic: 'a', until: 1_500 }],
      ['paused', { topic: 'b', until: 9_000 }],
      ['resumed', { topic: 'a' }],
      ['resumed', { topic: 'b' }],
    ])
    expect(clock.pendingTimers).toBe(0)
  })

  it('one that is over by the clock of the store is looked for at once; one that is moved, at its new end', async () => {
    const { asked, clock, controls, scene } = makeControls()
    scene.answer = async () => reply({ a: 500 }, 1_000)
    controls.look()
    await clock.settle()
    scene.answer = async () => reply({ a: 4_000 }, 1_001)
    await clock.advance(1)
    expect(asked).toEqual([0, 1])
    scene.answer = async () => reply({ a: 2_001 }, 1_001)
    controls.look()
    await clock.settle()
    expect([asked, clock.pendingTimers]).toEqual([[0, 1, 1], 1])
    await clock.advance(1_001)
    expect(asked).toEqual([0, 1, 1, 1_002])
  })

  it('a change while the store is asked is looked at after that, however many there were', async () => {
    const { asked, clock, controls, scene } = makeControls()
    const { opened, open } = gate()
    scene.answer = async () => {
      await opened
      return reply({})
    }
    for (let i = 0; i < 3; i += 1) controls.look()
    await clock.settle()
    expect(asked).toHaveLength(1)
    open()
    await clock.settle()
    expect(asked).toHaveLength(2)
    controls.look()
    expect(asked).toHaveLength(3)
  })

  it('a failure is reported, and the next look is as good as the first', async () => {
    const { asked, clock, controls, heard, scene } = makeControls()
    scene.answer = () => Promise.reject(new Error('away'))
    controls.look()
    await clock.settle()
    scene.answer = async () => reply({ a: FOREVER })
    controls.look()
    await clock.settle()
    expect(heard).toEqual(['failure Error: away', 'pause a true 0'])
    expect(asked).toHaveLength(2)
  })

  it('P11: stopped, answers and failures are not heard, nothing is asked, and no timer is left', async () => {
    for (const isGood of [true, false]) {
      const { asked, clock, controls, heard, scene, told } = makeControls()
      scene.answer = async () => reply({ b: 1_000 })
      controls.look()
      await clock.settle()
      const { opened, open } = gate()
      scene.answer = async () => {
        await opened
        if (isGood) return reply({ a: FOREVER })
        throw new Error('away')
      }
      controls.look()
      controls.look()
      controls.stop()
      open()
      await clock.settle()
      controls.look()
      expect(clock.pendingTimers).toBe(0)
      expect([asked.length, heard, told.length]).toEqual([2, ['pause b true 0'], 1])
    }
  })

  it('P11: a stop before anything was heard of is one too', () => {
    const { asked, controls } = makeControls()
    controls.stop()
    controls.look()
    expect(asked).toEqual([])
  })

  it('a store that keeps no pauses is not asked', () => {
    const { asked, controls } = makeControls({ features: [] })
    controls.look()
    expect(asked).toEqual([])
  })
})

function makeBook() {
  const told: unknown[] = []
  const events = new Events({ warn: () => undefined, error: () => undefined }, new QueueMeter())
  for (const name of ['paused', 'resumed'] as const) events.on(name, (event) => told.push([name, event]))
  const book = new PauseBook(events)
  const partitions = [{}, {}] as [Controls, Controls]
  const note = (partition: 0 | 1, pauses: Pauses): unknown[] => {
    book.note(partitions[partition], new Map(Object.entries(pauses)))
    return told.splice(0)
  }
  return { note }
}

describe('P14: a pause in several partitions', () => {
  it('is told once, with the end of the last; and is over when it is in all of them', () => {
    const { note } = makeBook()
    expect(note(0, { a: 1_000 })).toEqual([['paused', { topic: 'a', until: 1_000 }]])
    expect(note(1, { a: 1_003 })).toEqual([]) // Their clocks differ.
    expect(note(0, {})).toEqual([])
    expect(note(1, {})).toEqual([['resumed', { topic: 'a' }]])
  })

  it('of another topic in each: each is told, with its own end', () => {
    const { note } = makeBook()
    note(0, {})
    expect(note(1, { b: FOREVER })).toEqual([['paused', { topic: 'b' }]])
    expect(note(0, { a: 5 })).toEqual([['paused', { topic: 'a', until: 5 }]])
  })

  it('of one partition: a pause that is moved is told anew, and one that stays is not', () => {
    const { note } = makeBook()
    expect(note(0, { a: 1_000 })).toHaveLength(1)
    expect(note(0, { a: 1_000 })).toEqual([])
    expect(note(0, { a: 2_000 })).toEqual([['paused', { topic: 'a', until: 2_000 }]])
  })
})
