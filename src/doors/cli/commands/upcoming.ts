import { describe } from '../../../core/errors.ts'
import { DELAY_MS_MAX } from '../../../core/input/duration.ts'
import type { DueForecast } from '../../../index.ts'
import { bar } from '../terminal/format.ts'
import { nextStart, startOf, UNITS, type Unit } from '../../shared/calendar.ts'
import { defineCommand, type Call, type OptionSpecs } from '../command.ts'
import { CallError, EXIT } from '../../shared/failure.ts'
import { formatCount } from '../terminal/format.ts'
import { sayGap } from '../terminal/gap.ts'
import { formatMoment } from '../../shared/moment.ts'
import { pad } from '../terminal/table.ts'
import { parseWholeNumber } from '../values.ts'

const BARS_DEFAULT = '24'
/** How much of what is to come decides about the unit. */
const SHOWN_SHARE = 0.9
/** So many of what schedules bring show how often that is. */
const SHOWN_OCCURRENCES = 2

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

type Picture = {
  readonly unit: Unit
  readonly due: number
  readonly slots: DueForecast['bars']
  readonly later: number
  readonly isExact: boolean
  /** Partitions that did not answer: what they hold is not in it. */
  readonly missing?: readonly string[]
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
  notes: [
    'Units are those of the local calendar. "about" marks counts that the store estimated.',
    '"by schedule" is what schedules will bring besides: computed, not stored yet.',
  ],
  makesStore: false,
  run: async (call) => {
    const bars = parseWholeNumber(call.values.bars ?? BARS_DEFAULT, '--bars', { min: 1, max: 1_000 })
    const asked = parseUnit(call.values.by)
    const queue = call.open()
    const about = call.values.topic === undefined ? {} : { topic: call.values.topic }
    const forecast = (edges: readonly number[]): Promise<DueForecast> => queue.forecast({ edges, ...about })
    const now = Math.floor(call.clock.now())
    const unit = asked ?? chooseUnit(await forecast([now, ...unitEnds(now, bars)]), now, bars)
    const picture = draw(await forecast(edgesOf(now, unit, bars)), now, unit)
    sayGap(call.err, picture)
    if (call.json) call.out.json(picture)
    else for (const line of render(call, picture)) call.out.line(line)
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

/** From now on, to the end of the unit after `count - 1` more; nothing can be due beyond the horizon. */
function edgesOf(now: number, unit: Unit, count: number): number[] {
  const horizon = now + DELAY_MS_MAX
  const edges = [now]
  for (let at = startOf(now, unit); edges.length <= count && (edges.at(-1) ?? 0) < horizon;) {
    at = nextStart(at, unit)
    edges.push(Math.min(at, horizon))
  }
  return edges
}

/** Where the picture would end with each unit, those that come to the same left out. */
function unitEnds(now: number, count: number): number[] {
  return [...new Set(UNITS.map((unit) => edgesOf(now, unit, count).at(-1) ?? now))].toSorted((a, b) => a - b)
}

/**
 * The smallest that shows most of what is stored, and a rhythm. A single letter to the year 2050 must not press everything
 * else into one bar. Schedules have no end, so that of them a share says nothing.
 */
function chooseUnit({ bars, after }: DueForecast, now: number, count: number): Unit {
  const [all, scheduled] = [sumOf(bars, 'count') + after, sumOf(bars, 'scheduled')]
  const most = Math.floor((all - 1) * SHOWN_SHARE) + 1
  const some = Math.min(scheduled, SHOWN_OCCURRENCES)
  return (
    UNITS.find((unit) => {
      const end = edgesOf(now, unit, count).at(-1) ?? now
      const shown = bars.filter(({ until }) => until <= end)
      return sumOf(shown, 'count') >= most && sumOf(shown, 'scheduled') >= some
    }) ?? 'year'
  )
}

function sumOf(bars: DueForecast['bars'], what: 'count' | 'scheduled'): number {
  return bars.reduce((sum, one) => sum + (one[what] ?? 0), 0)
}

function draw({ bars, before, after, isExact, missing }: DueForecast, now: number, unit: Unit): Picture {
  const shown = bars.slice(0, bars.findLastIndex(({ count, scheduled = 0 }) => count + scheduled > 0) + 1)
  const slots = shown.map((slot) => (slot.from === now ? { ...slot, from: startOf(now, unit) } : slot))
  const gap = missing === undefined ? {} : { missing }
  return { unit, due: before, slots, later: after, isExact, ...gap }
}

function render({ out, clock }: UpcomingCall, { unit, due, slots, later, isExact }: Picture): string[] {
  const total = due + later + sumOf(slots, 'count')
  if (total === 0 && slots.length === 0) return [out.style.dim('nothing waits')]
  const { style } = out
  const rows = [
    ...(due === 0 ? [] : [{ label: 'due now', count: due, scheduled: 0, paint: style.yellow }]),
    ...slots.map(({ from, count, scheduled = 0 }) => ({
      label: labelOf(from, unit),
      count,
      scheduled,
      paint: style.cyan,
    })),
    ...(later === 0 ? [] : [{ label: 'later', count: later, scheduled: 0, paint: style.blue }]),
  ]
  const labelWidth = Math.max(...rows.map(({ label }) => label.length))
  const countWidth = Math.max(...rows.map(({ count }) => formatCount(count).length))
  const max = Math.max(...rows.map(({ count, scheduled }) => count + scheduled))
  const width = Math.max(10, Math.min(60, out.columns - labelWidth - countWidth - 6))
  const zone = formatMoment(clock.now()).slice(23)
  const waiting = `${isExact ? '' : 'about '}${formatCount(total)} message${total === 1 ? ' waits' : 's wait'}`
  return [
    style.dim(`${waiting}; per ${unit}, ${zone === 'Z' ? 'UTC' : `UTC${zone}`}`),
    ...rows.map(({ label, count, scheduled, paint }) => {
      const shown = count === 0 ? style.dim('·') : formatCount(count)
      const more = scheduled === 0 ? '' : style.dim(` +${formatCount(scheduled)} by schedule`)
      return `${pad(label, labelWidth, 'left')}  ${pad(shown, countWidth, 'right')}  ${paint(bar(count, max, width))}${more}`.trimEnd()
    }),
  ]
}

const LABEL_LENGTH = { minute: 16, hour: 16, day: 10, month: 7, year: 4 } as const

/** As much of 2030-01-01 09:00 as the unit needs. */
function labelOf(from: number, unit: Unit): string {
  return formatMoment(from).replace('T', ' ').slice(0, LABEL_LENGTH[unit])
}
