import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TIMER_MS_MAX } from '../../src/core/input/duration.ts'
import {
  IDLE,
  step,
  type NextAnswer,
  type SleepCommand,
  type SleepEvent,
  type SleepState,
} from '../../src/core/machines/sleep.ts'

const LIMITS = { fallbackMs: 5_000, slackMs: 0 }

const next: fc.Arbitrary<NextAnswer> = fc.oneof(
  fc.constant({ state: 'NO_TASK' as const }),
  fc.constant({ state: 'EXPIRED' as const }),
  fc.double({ min: 0, max: 2 ** 45, noNaN: true }).map((ms) => ({ state: 'WAITING' as const, ms })),
)
const fromOutside: fc.Arbitrary<SleepEvent> = fc.constantFrom(
  { kind: 'start' },
  { kind: 'wake' },
  { kind: 'room' },
)
const fromStore: fc.Arbitrary<SleepEvent> = fc.oneof(
  fc.record({ kind: fc.constant('answer' as const), next, got: fc.nat({ max: 3 }), room: fc.boolean() }),
  fc.record({
    kind: fc.constant('failure' as const),
    chance: fc.double({ min: 0, max: 0.999, noNaN: true }),
  }),
)
const anyEvent = fc.oneof(fromOutside, fromStore, fc.constant<SleepEvent>({ kind: 'timer' }))

/** Feeds events as the runtime would: answers only to a read under way, timers only when one is set. */
class Driver {
  state: SleepState = IDLE
  reading = false
  timerMs: number | undefined
  reads = 0

  feed(event: SleepEvent): SleepCommand {
    const [state, command] = step(this.state, event, LIMITS)
    this.state = state
    if (event.kind === 'answer' || event.kind === 'failure') this.reading = false
    if (event.kind === 'timer') this.timerMs = undefined
    if (command.kind !== 'none') this.timerMs = undefined
    if (command.kind === 'wait') this.timerMs = command.ms
    if (command.kind === 'read') {
      expect(this.reading).toBe(false) // One read at a time.
      this.reading = true
      this.reads += 1
    }
    return command
  }

  accepts(event: SleepEvent): boolean {
    if (event.kind === 'answer' || event.kind === 'failure') return this.reading
    if (event.kind === 'timer') return this.timerMs !== undefined
    return true
  }
}

function started(): Driver {
  const driver = new Driver()
  driver.feed({ kind: 'start' })
  return driver
}

function answer(state: NextAnswer['state'], got = 0, room = true): SleepEvent {
  const answered: NextAnswer = state === 'WAITING' ? { state, ms: 1_000 } : { state }
  return { kind: 'answer', next: answered, got, room }
}

describe('the scheduler machine', () => {
  it('P11: any order of events that ends in stop ends stopped, for good', () => {
    fc.assert(
      fc.property(
        fc.array(anyEvent, { maxLength: 50 }),
        fc.array(anyEvent, { maxLength: 10 }),
        (before, after) => {
          let state: SleepState = IDLE
          for (const event of before) [state] = step(state, event, LIMITS)
          const [stopped, halt] = step(state, { kind: 'stop' }, LIMITS)
          expect(stopped.name).toBe('stopped')
          expect(halt.kind).toBe('halt')
          for (const event of after) expect(step(stopped, event, LIMITS)).toEqual([stopped, { kind: 'none' }])
        },
      ),
    )
  })

  it('P9: a wake-up during a read is never forgotten', () => {
    fc.assert(
      fc.property(
        fc.array(anyEvent, { maxLength: 40 }),
        next,
        fc.nat({ max: 3 }),
        (events, answered, got) => {
          const driver = started()
          for (const event of events) if (driver.accepts(event)) driver.feed(event)
          fc.pre(driver.reading)
          driver.feed({ kind: 'wake' })
          driver.feed({ kind: 'answer', next: answered, got, room: true })
          // Either it reads again at once, or it rests for a moment after too many empty-handed answers.
          expect(['reading', 'resting']).toContain(driver.state.name)
        },
      ),
    )
  })

  it('P9: it never goes quiet: it reads, or waits at most the fallback, or has no room', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 60 }), (events) => {
        const driver = started()
        for (const event of events) {
          if (!driver.accepts(event)) continue
          driver.feed(event)
          if (driver.state.name === 'saturated') continue
          const isLively = driver.reading || driver.timerMs !== undefined
          expect(isLively).toBe(true)
          if (driver.timerMs !== undefined) {
            expect(driver.timerMs).toBeGreaterThanOrEqual(0)
            expect(driver.timerMs).toBeLessThanOrEqual(LIMITS.fallbackMs)
          }
        }
      }),
    )
  })

  it('waits as long as the store says, and at most the fallback', () => {
    const near = started()
    expect(near.feed({ kind: 'answer', next: { state: 'WAITING', ms: 12.5 }, got: 0, room: true })).toEqual({
      kind: 'wait',
      ms: 12.5,
    })
    expect(started().feed(answer('NO_TASK'))).toEqual({ kind: 'wait', ms: 5_000 })
    const far: NextAnswer = { state: 'WAITING', ms: 2 ** 40 }
    const [, command] = step(
      started().state,
      { kind: 'answer', next: far, got: 0, room: true },
      { fallbackMs: Infinity, slackMs: 2 },
    )
    expect(command).toEqual({ kind: 'wait', ms: TIMER_MS_MAX })
  })

  it('reads at once when woken while it waits, when its timer rings, and when room comes up', () => {
    for (const kind of ['wake', 'timer', 'room'] as const) {
      const driver = started()
      driver.feed(answer('WAITING'))
      expect(driver.feed({ kind })).toEqual({ kind: 'read' })
    }
  })

  it('without room it waits for room alone', () => {
    const driver = started()
    expect(driver.feed(answer('EXPIRED', 3, false))).toEqual({ kind: 'halt' })
    expect(driver.feed({ kind: 'wake' })).toEqual({ kind: 'none' })
    expect(driver.feed({ kind: 'room' })).toEqual({ kind: 'read' })
  })

  it('pauses longer after each failure, and no wake-up cuts the pause short', () => {
    const driver = started()
    const pauses: number[] = []
    for (let i = 0; i < 12; i += 1) {
      const command = driver.feed({ kind: 'failure', chance: 0 })
      expect(command.kind).toBe('wait')
      if (command.kind === 'wait') pauses.push(command.ms)
      expect(driver.feed({ kind: 'wake' })).toEqual({ kind: 'none' })
      expect(driver.feed({ kind: 'room' })).toEqual({ kind: 'none' })
      driver.feed({ kind: 'timer' })
    }
    expect(pauses.slice(0, 4)).toEqual([50, 100, 200, 400])
    expect(Math.max(...pauses)).toBe(5_000)
    driver.feed(answer('NO_TASK'))
    driver.feed({ kind: 'wake' })
    expect(driver.feed({ kind: 'failure', chance: 0 })).toEqual({ kind: 'wait', ms: 50 })
  })

  it('an EXPIRED without messages may repeat a few times, but not for ever at full speed', () => {
    const driver = started()
    let atOnce = 0
    while (driver.feed(answer('EXPIRED')).kind === 'read') atOnce += 1
    expect(atOnce).toBeGreaterThan(0)
    expect(atOnce).toBeLessThan(100)
    expect(driver.state.name).toBe('resting')
    driver.feed({ kind: 'timer' })
    expect(driver.feed(answer('EXPIRED')).kind).toBe('wait')
    driver.feed({ kind: 'timer' })
    expect(driver.feed(answer('EXPIRED', 5)).kind).toBe('read')
  })
})
