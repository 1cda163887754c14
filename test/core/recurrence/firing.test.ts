/** P13: what a schedule decides, as a pure function. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decideFiring, LEAD_MS, REACH_MS, type Firing } from '../../../src/core/recurrence/firing.ts'
import { NEW_PROGRESS, type SchedulePlan, type ScheduleProgress } from '../../../src/core/recurrence/spec.ts'

const NINE = Date.UTC(2026, 0, 5, 9)
const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS

const DAILY: SchedulePlan = {
  topic: 'report',
  body: '',
  meta: '',
  priority: 1,
  rhythm: { cron: '0 9 * * *', zone: 'UTC' },
  catchUp: 'one',
  overlap: 'allow',
  spreadMs: 0,
}

function every(ms: number, fields: Partial<SchedulePlan> = {}): SchedulePlan {
  return { ...DAILY, rhythm: { everyMs: ms }, ...fields }
}

function decide(
  plan: SchedulePlan,
  now: number,
  progress: Partial<ScheduleProgress> = {},
  fields: { changedAt?: number; isBusy?: boolean } = {},
): Firing {
  const { change, ...fresh } = NEW_PROGRESS
  const all = 'until' in progress ? { ...fresh, ...progress } : { ...fresh, change, ...progress }
  return decideFiring({
    plan,
    progress: all as ScheduleProgress,
    now,
    changedAt: now,
    isBusy: false,
    ...fields,
  })
}

/** Looks when it asked to, from a moment on, until another; answers all that fired. */
function run(
  plan: SchedulePlan,
  from: number,
  until: number,
): { fired: number[]; looks: number; last: ScheduleProgress } {
  let { moments, progress, nextAt } = decide(plan, from)
  const fired = [...moments]
  let looks = 1
  while (nextAt !== undefined && nextAt <= until) {
    const now: number = nextAt
    ;({ moments, progress, nextAt } = decideFiring({ plan, progress, now, changedAt: now, isBusy: false }))
    fired.push(...moments)
    looks += 1
  }
  return { fired, looks, last: progress }
}

/** Known and in its stride. */
function going(until: number, fields: Partial<ScheduleProgress> = {}): Partial<ScheduleProgress> {
  return { ...NEW_PROGRESS, change: undefined, until, ...fields } as Partial<ScheduleProgress>
}

describe('P13: a schedule in its stride', () => {
  it('falls due a minute before its occurrence, and places it then', () => {
    const first = decide(DAILY, NINE - 3_600_000)
    expect(first).toMatchObject({ moments: [], nextAt: NINE - LEAD_MS })
    const second = decide(DAILY, NINE - LEAD_MS, first.progress)
    expect(second).toMatchObject({ moments: [NINE], nextAt: NINE + DAY_MS - LEAD_MS })
    expect(second.progress).toMatchObject({ fired: 1, skipped: 0, caughtUp: 0, lastAt: NINE })
  })

  it('every: one period after it was set, anchored for ever; with a start, at the start', () => {
    const { fired } = run(every(7_000), NINE + 123, NINE + 600_000)
    expect(fired.slice(0, 3)).toEqual([1, 2, 3].map((k) => NINE + 123 + k * 7_000))
    expect(fired.every((at) => (at - NINE - 123) % 7_000 === 0)).toBe(true)
    const anchored = run(every(7_000, { startAt: NINE }), NINE - 60_000, NINE + 60_000)
    expect(anchored.fired.slice(0, 2)).toEqual([NINE, NINE + 7_000])
    const past = run(every(7_000, { startAt: NINE - 10_000_000 }), NINE, NINE + 60_000)
    expect((past.fired[0] ?? 0) > NINE && ((past.fired[0] ?? 0) - NINE + 10_000_000) % 7_000 === 0).toBe(true)
  })

  it('every second costs a look for every thirty occurrences, not one each', () => {
    const { fired, looks } = run(every(1_000), NINE, NINE + 600_000)
    expect(new Set(fired).size).toBe(fired.length)
    expect(fired.length).toBeGreaterThanOrEqual(600)
    expect(looks).toBeLessThan(fired.length / 20)
  })

  it('no occurrence is left out or repeated, whenever it looks', () => {
    const rhythms: SchedulePlan['rhythm'][] = [
      { everyMs: 1_000 },
      { everyMs: 61_001 },
      { cron: '*/7 * * * *', zone: 'Europe/Berlin' },
    ]
    const waits = fc.array(fc.integer({ min: 0, max: 200_000 }), { maxLength: 12 })
    fc.assert(
      fc.property(fc.constantFrom(...rhythms), waits, (rhythm, delays) => {
        const plan: SchedulePlan = { ...DAILY, rhythm, catchUp: { allMs: 10 * DAY_MS, max: 100 } }
        let step = decide(plan, NINE)
        const fired = [...step.moments]
        let now = NINE
        for (const delay of delays) {
          now = Math.max(now, (step.nextAt ?? now) + delay)
          step = decideFiring({ plan, progress: step.progress, now, changedAt: now, isBusy: false })
          fired.push(...step.moments)
        }
        expect(fired).toEqual([...new Set(fired)].toSorted((a, b) => a - b))
        const { until = 0, anchorAt = 0, skipped } = step.progress
        const total = 'everyMs' in rhythm ? Math.floor((until - anchorAt) / rhythm.everyMs) : undefined
        if (total !== undefined) expect(fired.length + skipped).toBe(total)
      }),
    )
  })

  it('ends after so many times, and at its end', () => {
    expect(run(every(10_000, { times: 3 }), NINE, NINE + DAY_MS).fired).toHaveLength(3)
    expect(decide(every(10_000, { times: 3 }), NINE, going(NINE, { fired: 3 })).nextAt).toBeUndefined()
    const { fired } = run(every(10_000, { endAt: NINE + 30_000 }), NINE, NINE + DAY_MS)
    expect(fired).toEqual([10, 20, 30].map((s) => NINE + s * 1_000))
  })
})

describe('P13: occurrences that were missed while no worker ran', () => {
  const down = going(NINE + REACH_MS, { fired: 1 })
  const later = NINE + 3 * DAY_MS + 3_600_000
  const missed = [1, 2, 3].map((days) => NINE + days * DAY_MS)
  const all = (allMs: number, max: number): Firing =>
    decide({ ...DAILY, catchUp: { allMs, max } }, later, down)

  it('none: they are skipped, and counted', () => {
    const { moments, progress } = decide({ ...DAILY, catchUp: 'none' }, later, down)
    expect([moments, progress.skipped, progress.caughtUp]).toEqual([[], 3, 0])
  })

  it('one: the latest fires, with its own moment', () => {
    const { moments, progress } = decide(DAILY, later, down)
    expect([moments, progress.skipped, progress.caughtUp, progress.fired]).toEqual([[missed[2]], 2, 1, 2])
  })

  it('all: those that are young enough fire in order, the latest of them where there are too many', () => {
    expect(all(10 * DAY_MS, 100).moments).toEqual(missed)
    expect(all(1.5 * DAY_MS, 100).moments).toEqual(missed.slice(1))
    expect(all(10 * DAY_MS, 2).moments).toEqual(missed.slice(1))
    expect(all(10 * DAY_MS, 2).progress).toMatchObject({ skipped: 1, caughtUp: 2 })
  })

  it('P10: a long backlog is counted in several looks, and fires once', () => {
    const plan: SchedulePlan = { ...DAILY, rhythm: { cron: '* * * * *', zone: 'UTC' } }
    let step = decide(plan, later, going(NINE))
    const fired = [...step.moments]
    let looks = 1
    while (step.nextAt === later) {
      step = decideFiring({ plan, progress: step.progress, now: later, changedAt: later, isBusy: false })
      fired.push(...step.moments)
      looks += 1
    }
    const minutes = (later - NINE) / MINUTE_MS
    expect(looks).toBeGreaterThan(5)
    expect(fired.filter((at) => at <= later)).toEqual([later])
    expect(step.progress).toMatchObject({ skipped: minutes - 1, caughtUp: 1 })
  })

  it('a clock that is set back over an occurrence fires it no second time; set forward, it was missed', () => {
    const placed = decide(DAILY, NINE - LEAD_MS, going(NINE - DAY_MS))
    expect(placed.moments).toEqual([NINE])
    const back = decide(DAILY, NINE - 3_600_000, placed.progress)
    expect([back.moments, back.progress.until, back.nextAt]).toEqual([
      [],
      placed.progress.until,
      NINE + DAY_MS - LEAD_MS,
    ])
    const forth = decide(DAILY, NINE + 3_600_000, going(NINE - DAY_MS))
    expect([forth.moments, forth.progress.caughtUp]).toEqual([[NINE], 1])
  })
})

describe('P13: overlap skip', () => {
  const plan: SchedulePlan = { ...DAILY, overlap: 'skip' }

  it('nothing is decided ahead; it looks at the moment, and fires if the one before is over', () => {
    const before = decide(plan, NINE - LEAD_MS, going(NINE - DAY_MS))
    expect([before.moments, before.nextAt]).toEqual([[], NINE])
    const free = decide(plan, NINE + 5, before.progress)
    expect([free.moments, free.progress.caughtUp, free.progress.skipped]).toEqual([[NINE], 0, 0])
    const busy = decide(plan, NINE + 5, before.progress, { isBusy: true })
    expect([busy.moments, busy.progress.skipped, busy.nextAt]).toEqual([[], 1, NINE + DAY_MS])
  })

  it('a few seconds late is on time, hours late was missed', () => {
    const none: SchedulePlan = { ...plan, catchUp: 'none' }
    const progress = going(NINE - 1)
    expect(decide(none, NINE + 30_000, progress).moments).toEqual([NINE])
    expect(decide(none, NINE + 3_600_000, progress).moments).toEqual([])
    expect(decide(plan, NINE + 3_600_000, progress).progress.caughtUp).toBe(1)
  })
})

describe('P13: a pause of the schedule', () => {
  it('what falls into it is skipped and counted, at its moment and not ahead', () => {
    const paused = decide(DAILY, NINE - LEAD_MS, going(NINE - DAY_MS, { isPaused: true }))
    expect([paused.moments, paused.nextAt, paused.progress.skipped]).toEqual([[], NINE, 0])
    expect(decide(DAILY, NINE, paused.progress).progress.skipped).toBe(1)
  })

  it('resumed after days without a worker, it skips what fell into the pause and goes on', () => {
    const resumedAt = NINE + 3 * DAY_MS - 30_000
    const resumed = going(NINE - 1, { change: 'resumed' })
    const { moments, progress } = decide(DAILY, resumedAt, resumed, { changedAt: resumedAt })
    expect([moments, progress.skipped, progress.change]).toEqual([[NINE + 3 * DAY_MS], 3, undefined])
  })
})

describe('P13: a change', () => {
  it('with another rhythm it begins at the store’s moment of the change, and never before what was placed', () => {
    const plan: SchedulePlan = { ...DAILY, rhythm: { cron: '30 9 * * *', zone: 'UTC' } }
    const tenOClock = NINE + 3_600_000
    const edited = going(NINE + 30_000, { change: 'set' })
    expect(decide(plan, tenOClock, edited).moments).toEqual([])
    const placed = going(NINE + 1_800_000, { change: 'set' })
    expect(decide(plan, NINE + 1_790_000, placed).moments).toEqual([])
  })
})

describe('P10, P13: bounds', () => {
  const eachSecond: SchedulePlan = { ...DAILY, rhythm: { cron: '* * * * * *', zone: 'UTC' } }

  it('what fell into a long pause is counted in several looks, and nothing fires before all is', () => {
    const resumedAt = NINE + 2_000_000
    let { moments, progress, nextAt } = decide(eachSecond, resumedAt, going(NINE, { change: 'resumed' }), {
      changedAt: resumedAt,
    })
    let looks = 1
    while (progress.change !== undefined) {
      expect([moments, nextAt]).toEqual([[], resumedAt])
      ;({ moments, progress, nextAt } = decideFiring({
        plan: eachSecond,
        progress,
        now: resumedAt,
        changedAt: resumedAt,
        isBusy: false,
      }))
      looks += 1
    }
    expect([looks > 1, progress.skipped, moments[0]]).toEqual([true, 2_000, resumedAt + 1_000])
  })

  it('one look fires no more than a hundred, those that were missed among them; the next goes on behind', () => {
    const plan: SchedulePlan = { ...eachSecond, catchUp: { allMs: DAY_MS, max: 60 } }
    const first = decide(plan, NINE, going(NINE - 60_000))
    expect([first.moments.length, first.moments[0], first.moments.at(-1)]).toEqual([
      100,
      NINE - 59_000,
      NINE + 40_000,
    ])
    expect(first.progress.until).toBe(NINE + 40_000)
    const second = decide(plan, NINE + 1_000, first.progress)
    expect(second.moments[0]).toBe(NINE + 41_000)
  })

  it('what was looked through is decided, also where nothing is in it', () => {
    expect(decide(DAILY, NINE + 1, going(NINE)).progress.until).toBe(NINE + 1 + REACH_MS)
  })

  it.each([
    [60_000, [NINE], 0],
    [60_001, [], 0],
  ])('skipping overlaps, without catching up: %i ms late fires %j', (lateMs, moments, caughtUp) => {
    const plan: SchedulePlan = { ...DAILY, overlap: 'skip', catchUp: 'none' }
    const firing = decide(plan, NINE + lateMs, going(NINE - DAY_MS))
    expect([firing.moments, firing.progress.caughtUp]).toEqual([moments, caughtUp])
  })

  it.each([
    [60_000, 0],
    [60_001, 1],
  ])('skipping overlaps: %i ms late counts as caught up %i times', (lateMs, caughtUp) => {
    const firing = decide({ ...DAILY, overlap: 'skip' }, NINE + lateMs, going(NINE - DAY_MS))
    expect([firing.moments, firing.progress.caughtUp]).toEqual([[NINE], caughtUp])
  })

  it('after its last time it does not look again', () => {
    expect(decide({ ...DAILY, times: 1 }, NINE - LEAD_MS, going(NINE - DAY_MS))).toMatchObject({
      moments: [NINE],
      nextAt: undefined,
    })
  })
})
