import { describe } from '../../../core/errors.ts'
import { formatDuration } from '../../../core/input/duration.ts'
import type { CatchUp, Duration, FoundSchedule, Overlap, Priority, ScheduleSpec } from '../../../index.ts'
import { defineCommand, type Call, type OptionSpecs, type Values } from '../command.ts'
import { CallError, EXIT, FailedError, type ExitCode } from '../../shared/failure.ts'
import { formatDistance } from '../terminal/format.ts'
import { sayGap } from '../terminal/gap.ts'
import { formatMoment, parseMomentText } from '../../shared/moment.ts'
import { printable } from '../../shared/printable.ts'
import { renderTable } from '../terminal/table.ts'
import {
  CALENDAR_OPTIONS,
  LATE_OPTIONS,
  parseLate,
  parsePayload,
  parseWholeNumber,
  readCalendars,
} from '../values.ts'

const OPTIONS = {
  cron: {
    type: 'string',
    value: 'FIELDS',
    help: 'five fields, or six with seconds first: "0 9 * * MON-FRI"',
  },
  zone: { type: 'string', value: 'ZONE', help: 'of --cron: Europe/Berlin; default UTC' },
  days: { type: 'string', value: 'DAYS', help: 'of --cron: only on these days of the week: mon-fri' },
  except: {
    type: 'string',
    multiple: true,
    value: 'DATE',
    help: 'of --cron: not on 2026-12-24, 12-25, or days of a calendar, by its name; repeatable',
  },
  ...CALENDAR_OPTIONS,
  every: { type: 'string', value: 'DURATION', help: 'instead of --cron: every so often, at least 1s' },
  start: { type: 'string', value: 'MOMENT', help: 'the first moment that counts; it anchors --every' },
  end: { type: 'string', value: 'MOMENT', help: 'the last moment that counts' },
  times: { type: 'string', value: 'N', help: 'so often at most' },
  'catch-up': {
    type: 'string',
    value: 'WHAT',
    help: 'missed while no worker ran: none, one (default), or a duration: all that are younger',
  },
  overlap: {
    type: 'string',
    value: 'WHAT',
    help: 'while the one before waits or runs: allow (default) or skip',
  },
  priority: { type: 'string', value: 'PRIORITY', help: 'high, normal (default) or low' },
  ...LATE_OPTIONS,
  count: { type: 'string', value: 'N', help: 'of next and list: how many; default 10, and 50' },
  cursor: { type: 'string', value: 'CURSOR', help: 'of list: go on where the page before ended' },
} as const satisfies OptionSpecs

type ScheduleCall = Call<typeof OPTIONS>

type Action = {
  /** Words after the action. */
  readonly operands: readonly [min: number, max: number, usage: string]
  readonly run: (call: ScheduleCall, words: readonly string[]) => Promise<ExitCode>
}

const ACTIONS: Readonly<Record<string, Action>> = {
  set: { operands: [2, 3, 'NAME TOPIC [JSON]'], run: set },
  list: { operands: [0, 0, ''], run: list },
  remove: { operands: [1, 1, 'NAME'], run: change('remove', 'fires no more') },
  pause: { operands: [1, 1, 'NAME'], run: change('pause', 'is paused') },
  resume: { operands: [1, 1, 'NAME'], run: change('resume', 'goes on') },
  next: { operands: [0, 1, '[NAME]'], run: next },
}

export const schedule = defineCommand({
  name: 'schedule',
  summary: 'what recurs: set, list, remove, pause, resume, next',
  operands: 'set NAME TOPIC [JSON] | list | remove NAME | pause NAME | resume NAME | next [NAME]',
  arity: [1, 4],
  options: OPTIONS,
  examples: [
    [
      `punctual schedule set daily-report report '{"kind":"daily"}' --cron '0 9 * * *' --zone Europe/Berlin`,
      'every morning; the same again has no effect',
    ],
    ['punctual schedule set poll feed.poll --every 90s --overlap skip', 'every 90 seconds, one at a time'],
    ['punctual schedule list', 'with last, next, and what was skipped'],
    [`punctual schedule next --cron '30 2 * * *' --zone Europe/Berlin --count 5`, 'when that would fire'],
    ['punctual schedule pause daily-report', 'what falls into the pause is skipped and counted'],
  ],
  notes: [
    'A worker fires schedules; without one they wait, and --catch-up says what becomes of what was missed.',
    'LAST STORED is the last occurrence that became a message, which happens up to a minute before its moment: it may be the next one.',
    'Where clocks change: one fixed time of day fires exactly once a day (in a gap: at its end; passed twice: the first time); everything else follows the clock on the wall.',
  ],
  // Without a name, `next` only computes.
  makesStore: ([action, name]) => action === 'set' || (action === 'next' && name === undefined),
  run: async (call) => {
    const [name = '', ...words] = call.positionals
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined
    if (action === undefined)
      throw new CallError(`schedule ${describe(name)}; give one of: ${Object.keys(ACTIONS).join(', ')}.`)
    const [min, max, usage] = action.operands
    if (words.length < min || words.length > max)
      throw new CallError(`usage: punctual schedule ${name} ${usage}`.trimEnd())
    return action.run(call, words)
  },
})

async function set(call: ScheduleCall, [name = '', topic = '', json]: readonly string[]): Promise<ExitCode> {
  const { out, clock } = call
  const queue = call.open(readCalendars(call.values))
  const payload = parsePayload(json)
  const spec = {
    ...specOf(call.values, topic),
    ...(payload === undefined ? {} : { payload }),
  } as ScheduleSpec
  const result = await queue.schedules.set(name, spec)
  const [nextAt] = await queue.schedules.nextOccurrences(name, 1)
  if (call.json) out.json({ name, result, ...(nextAt === undefined ? {} : { nextAt }) })
  else if (nextAt === undefined) out.line(`${printable(name)}: ${result}; no occurrence is left`)
  else
    out.line(
      `${printable(name)}: ${result}; next ${out.style.bold(formatMoment(nextAt))} (${formatDistance(nextAt, clock.now())})`,
    )
  return EXIT.fine
}

async function list(call: ScheduleCall): Promise<ExitCode> {
  const { out, err, json, values } = call
  const limit = parseWholeNumber(values.count ?? '50', '--count', { min: 1, max: 1_000 })
  const about = values.cursor === undefined ? {} : { cursor: values.cursor }
  const page = await call.open().schedules.list({ limit, ...about })
  sayGap(err, page)
  if (json) out.json(page)
  else if (page.items.length === 0 && page.cursor === undefined) out.line(out.style.dim('no schedules'))
  else for (const line of renderRows(call, page.items)) out.line(line)
  if (!json && page.cursor !== undefined) err.line(err.style.dim(`there is more: --cursor '${page.cursor}'`))
  return EXIT.fine
}

async function next(call: ScheduleCall, [name]: readonly string[]): Promise<ExitCode> {
  const { out, clock, json, values } = call
  const count = parseWholeNumber(values.count ?? '10', '--count', { min: 1, max: 10_000 })
  const which = name ?? (specOf(values, 'any') as ScheduleSpec)
  const { schedules } = call.open(readCalendars(values))
  const moments = await schedules.nextOccurrences(which, count)
  if (name !== undefined && moments.length === 0 && (await schedules.get(name)) === undefined)
    throw new FailedError(`there is no schedule ${describe(name)} in queue "${call.queueName}".`)
  if (json) out.json({ moments })
  else if (moments.length === 0) out.line(out.style.dim('no occurrence is left'))
  else
    for (const at of moments)
      out.line(`${formatMoment(at)}  ${out.style.dim(formatDistance(at, clock.now()))}`)
  return EXIT.fine
}

function change(verb: 'remove' | 'pause' | 'resume', done: string): Action['run'] {
  return async ({ open, out, err, json }, [name = '']) => {
    const result = await open().schedules[verb](name)
    if (json) out.json({ name, result })
    else if (result === 'missing') err.line(`${printable(name)}: there is no such schedule`)
    else out.line(`${printable(name)}: ${done}`)
    return result === 'missing' ? EXIT.failed : EXIT.fine
  }
}

/** The library checks all but moments and numbers, which are texts here only. */
function specOf(values: Values<typeof OPTIONS>, topic: string): Partial<ScheduleSpec> {
  const {
    cron,
    zone,
    days,
    except,
    every,
    start,
    end,
    times,
    overlap,
    priority,
    'catch-up': catchUp,
  } = values
  return {
    topic,
    ...(cron === undefined ? {} : { cron }),
    ...(zone === undefined ? {} : { zone }),
    ...(days === undefined ? {} : { days }),
    ...(except === undefined ? {} : { except }),
    ...(every === undefined ? {} : { every: every as Duration }),
    ...(start === undefined ? {} : { start: parseMomentText(start, '--start') }),
    ...(end === undefined ? {} : { end: parseMomentText(end, '--end') }),
    ...(times === undefined ? {} : { times: parseWholeNumber(times, '--times', { min: 1, max: 1e9 }) }),
    ...(catchUp === undefined ? {} : { catchUp: parseCatchUp(catchUp) }),
    ...(overlap === undefined ? {} : { overlap: overlap as Overlap }),
    ...(priority === undefined ? {} : { priority: priority as Priority }),
    ...parseLate(values),
  } as Partial<ScheduleSpec>
}

function parseCatchUp(text: string): CatchUp {
  return /^\d/.test(text) ? { all: text as Duration } : (text as CatchUp)
}

function renderRows({ out, clock }: ScheduleCall, items: readonly FoundSchedule[]): string[] {
  const now = clock.now()
  const { style } = out
  const columns = [
    { title: 'NAME' },
    { title: 'TOPIC' },
    { title: 'WHEN' },
    { title: 'STATE' },
    { title: 'LAST STORED' },
    { title: 'NEXT' },
    { title: '' },
    ...['FIRED', 'SKIPPED', 'CAUGHT UP'].map((title) => ({ title, align: 'right' as const })),
  ]
  const rows = items.map((found) => [
    found.name,
    found.topic,
    rhythmText(found),
    found.state === 'active' ? style.green(found.state) : style.yellow(found.state),
    moment(found.lastAt),
    moment(found.nextAt),
    found.nextAt === undefined ? '' : style.dim(formatDistance(found.nextAt, now)),
    String(found.fired),
    String(found.skipped),
    String(found.caughtUp),
  ])
  return renderTable(columns, rows, { width: out.isTerminal ? out.columns : Infinity, title: style.bold })
}

function moment(at: number | undefined): string {
  return at === undefined ? '' : formatMoment(at)
}

function rhythmText({ cron, zone, days, except = [], everyMs }: FoundSchedule): string {
  if (cron === undefined) return `every ${formatDuration(everyMs ?? 0)}`
  const but = except.length === 0 ? '' : `, but ${except.length === 1 ? except[0] : `${except.length} days`}`
  return `${cron} ${zone ?? ''}${days === undefined ? '' : `, ${days}`}${but}`
}
