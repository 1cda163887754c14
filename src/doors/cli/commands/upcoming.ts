import { describe } from '../../../core/errors.ts'
import type { Punctual } from '../../../index.ts'
import { bar } from '../terminal/bars.ts'
import { nextStart, startOf, unitFor, UNITS, type Unit } from '../../shared/calendar.ts'
import { defineCommand, type Call, type OptionSpecs } from '../command.ts'
import { CallError, EXIT } from '../../shared/failure.ts'
import { formatCount } from '../terminal/figures.ts'
import { formatMoment } from '../../shared/moment.ts'
import { allPages } from '../../shared/pages.ts'
import { Progress } from '../terminal/progress.ts'
import { pad } from '../terminal/table.ts'
import { parseWholeNumber } from '../whole-number.ts'

const BARS_DEFAULT = '24'
/** How much of what is to come decides about the unit. */
const SHOWN_SHARE = 0.9

const OPTIONS = {
  by: {
    type: 'string',
    value: 'UNIT',
    help: 'minute, hour, day, month or year; default: whatever shows most of it',
  },
  bars: { type: 'string', value: 'N', help: `how many units to show; default ${BARS_DEFAULT}` },
  topic: { type: 'string', value: 'TOPIC', help: 'only messages of this topic' },
} as const satisfies OptionSpecs

type UpcomingCall = Call<typeof OPTIONS>

type Slot = { readonly from: number; readonly until: number; count: number }

type Picture = {
  readonly unit: Unit
  readonly due: number
  readonly slots: readonly Slot[]
  readonly later: number
}

export const upcoming = defineCommand({
  name: 'upcoming',
  summary: 'the future as a picture: how many messages come due when',
  operands: '',
  arity: [0, 0],
  options: OPTIONS,
  examples: [
    ['punctual upcoming', 'all of it'],
    ['punctual upcoming --by hour --bars 48 --topic mail.send', 'the mails of the next two days'],
  ],
  notes: ['Looks at every message that waits: with millions of them this takes a while.'],
  makesStore: false,
  run: async (call) => {
    const count = parseWholeNumber(call.values.bars ?? BARS_DEFAULT, '--bars', { min: 1, max: 1_000 })
    const unit = parseUnit(call.values.by)
    const moments = await readMoments(call, call.open())
    const forecast = makeForecast(moments, { now: call.clock.now(), unit, count })
    if (call.json) call.out.json(forecast)
    else for (const line of renderForecast(call, forecast)) call.out.line(line)
    return EXIT.fine
  },
})

function parseUnit(text: string | undefined): Unit | undefined {
  const found = UNITS.find((unit) => unit === text)
  if (found === undefined && text !== undefined) {
    throw new CallError(`--by is ${describe(text)}; give one of: ${UNITS.join(', ')}.`)
  }
  return found
}

async function readMoments(
  { values: { topic }, err, clock, out }: UpcomingCall,
  queue: Punctual,
): Promise<number[]> {
  const moments: number[] = []
  const progress = new Progress(err, clock)
  for (const state of ['ready', 'delayed'] as const) {
    for await (const page of allPages(
      queue,
      { state, ...(topic === undefined ? {} : { topic }) },
      out.closed,
    )) {
      for (const { dueAt } of page) moments.push(dueAt)
      progress.update({ done: moments.length })
    }
  }
  progress.end()
  return moments
}

type Question = { readonly now: number; readonly unit: Unit | undefined; readonly count: number }

function makeForecast(moments: readonly number[], { now, unit: asked, count }: Question): Picture {
  const ahead = moments.filter((moment) => moment > now).toSorted((a, b) => a - b)
  // A single letter to the year 2050 must not press everything else into one bar.
  const most = ahead[Math.floor((ahead.length - 1) * SHOWN_SHARE)] ?? now
  const unit = asked ?? unitFor(most - now, count - 1)
  const slots = makeSlots(now, ahead.at(-1) ?? now, unit, count)
  let later = 0
  for (const moment of ahead) {
    const slot = slots.find(({ until }) => moment < until)
    if (slot === undefined) later += 1
    else slot.count += 1
  }
  return { unit, due: moments.length - ahead.length, slots: withoutEmptyEnd(slots), later }
}

function withoutEmptyEnd(slots: readonly Slot[]): readonly Slot[] {
  return slots.slice(0, slots.findLastIndex(({ count }) => count > 0) + 1)
}

function makeSlots(now: number, last: number, unit: Unit, count: number): Slot[] {
  const slots: Slot[] = []
  for (let from = startOf(now, unit); from <= last && slots.length < count; from = nextStart(from, unit)) {
    slots.push({ from, until: nextStart(from, unit), count: 0 })
  }
  return slots
}

function renderForecast({ out, clock }: UpcomingCall, { unit, due, slots, later }: Picture): string[] {
  const total = due + later + slots.reduce((sum, { count }) => sum + count, 0)
  if (total === 0) return [out.style.dim('nothing waits')]
  const { style } = out
  const rows = [
    ...(due === 0 ? [] : [{ label: 'due now', count: due, paint: style.yellow }]),
    ...slots.map(({ from, count }) => ({ label: labelOf(from, unit), count, paint: style.cyan })),
    ...(later === 0 ? [] : [{ label: 'later', count: later, paint: style.blue }]),
  ]
  const labelWidth = Math.max(...rows.map(({ label }) => label.length))
  const countWidth = Math.max(...rows.map(({ count }) => formatCount(count).length))
  const max = Math.max(...rows.map(({ count }) => count))
  const width = Math.max(10, Math.min(60, out.columns - labelWidth - countWidth - 6))
  const zone = formatMoment(clock.now()).slice(23)
  return [
    style.dim(`${formatCount(total)} messages wait; per ${unit}, zone ${zone}`),
    ...rows.map(({ label, count, paint }) => {
      const shown = count === 0 ? style.dim('·') : formatCount(count)
      return `${pad(label, labelWidth, 'left')}  ${pad(shown, countWidth, 'right')}  ${paint(bar(count, max, width))}`.trimEnd()
    }),
  ]
}

const LABEL_LENGTH = { minute: 16, hour: 16, day: 10, month: 7, year: 4 } as const

/** As much of 2030-01-01 09:00 as the unit needs. */
function labelOf(from: number, unit: Unit): string {
  return formatMoment(from).replace('T', ' ').slice(0, LABEL_LENGTH[unit])
}
