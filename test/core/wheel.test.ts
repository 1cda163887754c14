import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DAY_MS } from '../../src/core/input/duration.ts'
import { TimingWheel } from '../../src/core/wheel/wheel.ts'

const NO_LIMIT = Number.MAX_SAFE_INTEGER
const START = Date.UTC(2026, 0, 1)

/** A wheel with columns of its own. */
class Wheel extends TimingWheel {
  readonly #columns: { readonly dueAt: Float64Array; readonly lane: Int32Array }

  constructor(now: number) {
    const columns = { dueAt: new Float64Array(200), lane: new Int32Array(200) }
    super(now, columns)
    this.#columns = columns
  }

  put(entry: number, dueAt: number, lane = 0): void {
    if (!this.has(entry)) this.#columns.dueAt[entry] = dueAt
    this.#columns.lane[entry] = lane
    this.place(entry)
  }
}

function drain(wheel: TimingWheel, to: number): number[] {
  const out: number[] = []
  wheel.advance(to, NO_LIMIT, (entry) => out.push(entry))
  return out
}

/** The same behaviour, too simple to be wrong: an array in the order of placing, stably sorted. */
class SortedArray {
  #entries: { entry: number; dueAt: number; lane: number }[] = []

  place(entry: number, dueAt: number, lane = 0): void {
    this.#entries.push({ entry, dueAt, lane })
  }

  cancel(entry: number): boolean {
    const before = this.#entries.length
    this.#entries = this.#entries.filter((one) => one.entry !== entry)
    return this.#entries.length < before
  }

  advance(to: number): number[] {
    const due = this.#entries.filter(({ dueAt }) => dueAt <= to).toSorted((a, b) => a.dueAt - b.dueAt)
    this.#entries = this.#entries.filter(({ dueAt }) => dueAt > to)
    return due.map(({ entry }) => entry)
  }

  nextAt(lanes?: readonly number[]): number | undefined {
    const among = this.#entries.filter(({ lane }) => lanes === undefined || lanes.includes(lane))
    return among.length === 0 ? undefined : Math.min(...among.map(({ dueAt }) => dueAt))
  }
}

const gap = fc.oneof(
  fc.integer({ min: 1, max: 300 }),
  fc.integer({ min: 1, max: 70_000 }),
  fc.integer({ min: 1, max: 20_000_000 }),
  fc.integer({ min: 1, max: 100 * 365 }).map((days) => days * DAY_MS),
  fc.constantFrom(255, 256, 257, 65_535, 65_536, 2 ** 24 - 1, 2 ** 24, 2 ** 31, 2 ** 32),
)

const command = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('place' as const), gap, lane: fc.nat({ max: 9 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), which: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('advance' as const), gap }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('look' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('look at lanes' as const),
      lanes: fc.uniqueArray(fc.nat({ max: 11 }), { maxLength: 5 }),
      looks: fc.constantFrom(0, 1, 3, NO_LIMIT),
    }),
  },
)

describe('TimingWheel', () => {
  it('behaves like a sorted array under any placing, cancelling and advancing', () => {
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 30 }), fc.array(command, { maxLength: 80 }), (offset, commands) => {
        const wheel = new Wheel(START + offset)
        const model = new SortedArray()
        let now = START + offset
        let entries = 0
        for (const step of commands) {
          if (step.kind === 'place') {
            wheel.put(entries, now + step.gap, step.lane)
            model.place(entries, now + step.gap, step.lane)
            entries += 1
          } else if (step.kind === 'cancel' && entries > 0) {
            const entry = step.which % entries
            expect(wheel.cancel(entry)).toBe(model.cancel(entry))
          } else if (step.kind === 'advance') {
            now += step.gap
            expect(drain(wheel, now)).toEqual(model.advance(now))
          } else if (step.kind === 'look at lanes') {
            const found = wheel.nextAtAmong(step.lanes, { left: step.looks })
            const truth = model.nextAt(step.lanes)
            if (step.looks === NO_LIMIT) expect(found).toBe(truth)
            expect(found === undefined).toBe(truth === undefined)
            if (found !== undefined) expect(found > now && found <= (truth ?? 0)).toBe(true)
          } else {
            expect(wheel.nextAt()).toBe(model.nextAt())
          }
        }
        expect(drain(wheel, now + 200 * 366 * DAY_MS)).toEqual(model.advance(Infinity))
        expect(wheel.size).toBe(0)
      }),
      { numRuns: 1_000 },
    )
  })

  it('gives the same in small portions as at once', () => {
    fc.assert(
      fc.property(
        fc.array(gap, { maxLength: 60 }),
        fc.integer({ min: 1, max: 5 }),
        gap,
        (gaps, budget, to) => {
          const whole = new Wheel(START)
          const portioned = new Wheel(START)
          for (const [entry, ms] of gaps.entries()) {
            whole.put(entry, START + ms)
            portioned.put(entry, START + ms)
          }
          const out: number[] = []
          let calls = 0
          const model = gaps.map((ms) => START + ms).toSorted((a, b) => a - b)
          while (!portioned.advance(START + to, budget, (entry) => out.push(entry))) {
            expect(portioned.nextAt()).toBe(model[out.length])
            calls += 1
          }
          expect(out).toEqual(drain(whole, START + to))
          expect(calls).toBeLessThanOrEqual(gaps.length * 6)
        },
      ),
    )
  })

  it('hands out entries of one millisecond in the order of placing, however they came there', () => {
    const wheel = new Wheel(START)
    const dueAt = START + 100_000
    wheel.put(0, dueAt)
    drain(wheel, dueAt - 1_000)
    wheel.put(1, dueAt)
    drain(wheel, dueAt - 10)
    wheel.put(2, dueAt)
    expect(drain(wheel, dueAt)).toEqual([0, 1, 2])
  })

  it('jumps over empty time: a hundred years cost no more than a day', () => {
    const wheel = new Wheel(START)
    wheel.put(0, START + 36_525 * DAY_MS)
    expect(drain(wheel, START + 36_525 * DAY_MS - 1)).toEqual([])
    expect(wheel.nextAt()).toBe(START + 36_525 * DAY_MS)
    expect(drain(wheel, START + 36_525 * DAY_MS)).toEqual([0])
  })

  it('finds the next head after the head of a far bucket was cancelled', () => {
    const wheel = new Wheel(START)
    wheel.put(0, START + 300_000)
    wheel.put(1, START + 300_500)
    wheel.cancel(0)
    expect(wheel.nextAt()).toBe(START + 300_500)
  })

  it('lets an entry be placed again once it came out or was cancelled', () => {
    const wheel = new Wheel(START)
    wheel.put(7, START + 5)
    expect(wheel.has(7)).toBe(true)
    expect(drain(wheel, START + 5)).toEqual([7])
    expect(wheel.has(7)).toBe(false)
    wheel.put(7, START + 10)
    expect(wheel.cancel(7)).toBe(true)
    expect(wheel.cancel(7)).toBe(false)
    wheel.put(7, START + 10)
    expect(drain(wheel, START + 10)).toEqual([7])
  })

  it('looks for the next of a lane at no more entries than it may, and then says a moment before it', () => {
    const wheel = new Wheel(START)
    for (let entry = 0; entry < 100; entry += 1) wheel.put(entry, START + 100_000 + entry, entry % 2)
    wheel.cancel(0)
    const looks = { left: 10 }
    const bound = wheel.nextAtAmong([0], looks) ?? 0
    expect(looks.left).toBe(0)
    expect(bound > START && bound <= START + 100_002).toBe(true)
    expect(wheel.nextAtAmong([0], { left: 200 })).toBe(START + 100_002)
    const unused = { left: 10 }
    expect(wheel.nextAtAmong([0, 1], unused)).toBe(START + 100_001)
    expect(unused.left).toBe(10)
  })

  it('refuses the past and a second placing', () => {
    const wheel = new Wheel(START)
    expect(() => wheel.put(0, START)).toThrow(/not after/)
    wheel.put(0, START + 1)
    expect(() => wheel.put(0, START + 2)).toThrow(/placed already/)
  })
})
