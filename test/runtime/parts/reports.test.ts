import { describe, expect, it } from 'vitest'
import { SCHEDULES_TOPIC } from '../../../src/core/control.ts'
import type { Outcome } from '../../../src/core/machines/outcome.ts'
import { Events, type EventName } from '../../../src/runtime/telling/events.ts'
import type { Figures } from '../../../src/runtime/telling/figures.ts'
import { QueueMeter } from '../../../src/runtime/telling/meter.ts'
import type { Notices } from '../../../src/runtime/telling/notices.ts'
import { Reports } from '../../../src/runtime/telling/reports.ts'
import type { Settlement } from '../../../src/store/contract/store.ts'

const NAMES = [
  'completed',
  'skipped',
  'snoozed',
  'postponed',
  'retrying',
  'dead',
  'cancelled',
  'late',
] as const satisfies EventName[]

function makeReports(isHeard = true) {
  const told: unknown[] = []
  const meter = new QueueMeter()
  const events = new Events({ warn: () => undefined, error: () => undefined }, meter)
  if (isHeard) for (const name of NAMES) events.on(name, (event) => told.push([name, event]))
  const noted =
    (what: string) =>
    (...args: unknown[]): void =>
      void told.push([what, ...args])
  const reports = new Reports({
    events,
    figures: { add: noted('figures') } as unknown as Figures,
    notices: { dead: noted('log dead'), retried: noted('log retried') } as unknown as Notices,
  })
  return { meter, reports, told }
}

/** A lease knows more than is told. */
const MESSAGE = { id: 'x', topic: 't', attempt: 2, token: 'secret', meta: '' }
const ABOUT = { id: 'x', topic: 't', attempt: 2 }
const STARTED = { isStarted: true, latenessMs: 7, durationMs: 40 }
const REFUSED = { isStarted: false, latenessMs: 7, durationMs: 0 }

describe('what is told of a message that was settled', () => {
  const failed = { ...ABOUT, error: 'e' }
  it.each<[string, Outcome, typeof STARTED | undefined, unknown[]]>([
    [
      'completed',
      { kind: 'ack' },
      STARTED,
      [
        ['figures', 't', 'completed', 7, 40],
        ['completed', { ...ABOUT, latenessMs: 7, durationMs: 40 }],
      ],
    ],
    [
      'completed without having been started here',
      { kind: 'ack' },
      undefined,
      [
        ['figures', 't', 'completed', undefined, 0],
        ['completed', { ...ABOUT, latenessMs: 0, durationMs: 0 }],
      ],
    ],
    [
      'skipped: it was never started',
      { kind: 'skip' },
      REFUSED,
      [
        ['figures', 't', 'skipped', undefined, 0],
        ['skipped', { ...ABOUT, latenessMs: 7 }],
      ],
    ],
    [
      'snoozed for a while',
      { kind: 'again', when: { delayMs: 5 } },
      STARTED,
      [['snoozed', { ...ABOUT, delayMs: 5 }]],
    ],
    ['due again at a moment', { kind: 'again', when: { at: 5 } }, STARTED, []],
    [
      'moved by its window',
      { kind: 'again', when: { at: 5 }, isMoved: true },
      REFUSED,
      [['postponed', { ...ABOUT, until: 5 }]],
    ],
    [
      'tried again',
      { kind: 'retry', delayMs: 9, error: 'e' },
      STARTED,
      [
        ['figures', 't', 'failed', 7, 40],
        ['log retried', failed, 9],
        ['retrying', { ...ABOUT, delayMs: 9, error: 'e' }],
      ],
    ],
    [
      'its lease lapsed elsewhere',
      { kind: 'lapse', error: 'e' },
      undefined,
      [
        ['figures', 't', 'failed', undefined, 0],
        ['log retried', failed, 0],
        ['retrying', { ...ABOUT, delayMs: 0, error: 'e' }],
      ],
    ],
    [
      'dead before it was started',
      { kind: 'dead', reason: 'r', error: 'e' },
      REFUSED,
      [
        ['figures', 't', 'dead', undefined, 0],
        ['log dead', failed, 'r'],
        ['dead', { ...ABOUT, reason: 'r', error: 'e' }],
      ],
    ],
    ['given back', { kind: 'release' }, STARTED, []],
  ])('%s', (_, outcome, times, expected) => {
    const { reports, told } = makeReports()
    reports.settled(outcome, MESSAGE, times)
    expect(told).toEqual(expected)
  })

  it('of our own messages nothing', () => {
    const { meter, reports, told } = makeReports()
    const own = { ...MESSAGE, topic: SCHEDULES_TOPIC }
    reports.settled({ kind: 'ack' }, own, STARTED)
    reports.late(own, 9)
    expect(told).toEqual([])
    expect(meter.events.late).toBe(0)
  })

  it('a successor has taken its place: the attempt failed, unless it was given back or snoozed', () => {
    const { reports, told } = makeReports()
    for (const kind of ['release', 'again']) reports.succeeded({ kind } as Settlement, MESSAGE, STARTED)
    expect(told).toEqual([])
    reports.succeeded({ kind: 'retry' } as Settlement, MESSAGE, STARTED)
    reports.succeeded({ kind: 'lapse' } as Settlement, MESSAGE, undefined)
    expect(told).toEqual([
      ['figures', 't', 'failed', 7, 40],
      ['figures', 't', 'failed', undefined, 0],
    ])
  })

  it('cancelled, and late: counted also where nobody listens', () => {
    for (const isHeard of [true, false]) {
      const { meter, reports, told } = makeReports(isHeard)
      reports.cancelled(MESSAGE)
      reports.late(MESSAGE, 9)
      expect(told).toEqual(
        isHeard
          ? [
              ['cancelled', ABOUT],
              ['late', { ...ABOUT, latenessMs: 9 }],
            ]
          : [],
      )
      expect(meter.events).toMatchObject({ late: 1, cancelled: 1 })
    }
  })
})
