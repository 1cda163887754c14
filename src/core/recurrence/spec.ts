/** What a caller says of a schedule, checked and normalised, and how a schedule is stored: as text in a message of our own. */
import { checkRecord, parseInteger, parseOneOf } from '../input/checks.ts'
import {
  DAY_MS,
  DELAY_MS_MAX,
  parseDuration,
  parseFutureMoment,
  type Duration,
  type Moment,
} from '../input/duration.ts'
import type { RetryOptions } from '../input/handle-options.ts'
import type { PayloadField } from '../input/payload.ts'
import { parsePolicy, parseWithin, POLICY_KEYS, type ParseContext } from '../input/request.ts'
import { SCHEDULE_MARK } from '../control.ts'
import { UsageError, describe } from '../errors.ts'
import { PRIORITIES, priorityRank, type Priority, type PriorityRank } from '../message.ts'
import { checkNewKey, isName, isNewName } from '../input/names.ts'
import type { IfExpired } from '../machines/outcome.ts'
import { parseWeekdays, type Except } from '../windows/days.ts'
import { zoneOf } from '../windows/zone.ts'
import type { Within } from '../windows/windows.ts'
import { Recurrence, type CronRhythm } from './recurrence.ts'

export type ScheduleSpec<Topic extends string = string, Payload = unknown> = Cadence &
  PayloadField<Payload> & {
    topic: Topic
    /** The first moment that counts; it anchors `every`. Default: now, and then `every` begins one period later. */
    start?: Moment
    /** The last moment that counts. */
    end?: Moment
    /** So often at most. */
    times?: number
    /** What becomes of occurrences that were missed because no worker ran. Default `one`. */
    catchUp?: CatchUp
    /** `skip`: an occurrence does not fire while the one before waits or runs. Default `allow`. */
    overlap?: Overlap
    /** Each occurrence is due later by a stable share of this time. */
    spread?: Duration
    priority?: Priority
    /** Of each occurrence: see `produce`. */
    key?: string
    /** As for `produce`, for each occurrence. */
    ttl?: Duration
    ifExpired?: IfExpired
    /** Of each occurrence; all that come due outside start at its opening. For one only give `days` and `except`. */
    within?: Within
    retry?: RetryOptions
    timeout?: Duration
  }

/**
 * Five cron fields, or six with seconds first; `zone` is UTC unless told. Only on `days` of the week (`mon-fri`), and not on days
 * that are excepted: a calendar's dates are those at the time of `set`. Or every so often, at least every second.
 */
export type Cadence =
  | { cron: string; zone?: string; days?: string; except?: Except; every?: EitherOr }
  | { every: Duration; cron?: EitherOr; zone?: never; days?: never; except?: never }

/** Never to be given: the compiler shows it where both are. */
type EitherOr = 'give either cron or every'

/** None of them; the latest; or all that are younger than this, the latest `max` of them (default 100). */
export type CatchUp = 'none' | 'one' | { all: Duration; max?: number }
export type Overlap = 'allow' | 'skip'

/** A schedule as it is stored. */
export type SchedulePlan = {
  readonly topic: string
  /** The encoded payload, and the encoded policy. */
  readonly body: string
  readonly meta: string
  readonly priority: PriorityRank
  readonly key?: string
  readonly rhythm: CronRhythm | { readonly everyMs: number }
  readonly startAt?: number
  readonly endAt?: number
  readonly times?: number
  readonly catchUp: 'none' | 'one' | { readonly allMs: number; readonly max: number }
  readonly overlap: Overlap
  readonly spreadMs: number
}

/** How far a schedule has come. */
export type ScheduleProgress = {
  /** Every occurrence up to here fired or was skipped. */
  readonly until?: number
  /** Of `every` without a start. */
  readonly anchorAt?: number
  /** The occurrence that fired last. */
  readonly lastAt?: number
  readonly fired: number
  readonly skipped: number
  readonly caughtUp: number
  readonly isPaused: boolean
  readonly isRemoved?: true
  /** What happened to it since it was last looked at: by the store's clock, at the moment that its message is due. */
  readonly change?: 'set' | 'resumed'
}

export type StoredSchedule = { readonly plan: SchedulePlan; readonly progress: ScheduleProgress }

export const NEW_PROGRESS: ScheduleProgress = {
  fired: 0,
  skipped: 0,
  caughtUp: 0,
  isPaused: false,
  change: 'set',
}

export const EVERY_MS_MIN = 1_000
export const CATCH_UP_MAX = 100
const TIMES_MAX = 1_000_000_000
/** Leaves room for the moment of an occurrence in its id. */
const NAME_BYTES_MAX = 150

const SPEC_KEYS = [
  'topic',
  'payload',
  'cron',
  'zone',
  'days',
  'except',
  'within',
  'every',
  'start',
  'end',
  'times',
  'catchUp',
  'overlap',
  'spread',
  'priority',
  'key',
  ...POLICY_KEYS,
] as const

/** All but topic and payload, which are checked as those of `produce` are. */
export function parseSpec(spec: unknown, context: ParseContext): Omit<SchedulePlan, 'topic' | 'body'> {
  const { now } = context
  const given = checkRecord(spec, 'schedule', SPEC_KEYS)
  const { start, end, times, catchUp = 'one', overlap = 'allow', spread = 0, priority = 'normal' } = given
  return {
    meta: parsePolicy(given, given.within === undefined ? '' : parseWithin(given.within, context)),
    priority: priorityRank(parseOneOf(priority, 'priority', PRIORITIES)),
    ...(given.key === undefined ? {} : { key: checkNewKey(given.key) }),
    rhythm: parseRhythm(given, context),
    ...(start === undefined ? {} : { startAt: parseFutureMoment(start, 'start', now) }),
    ...(end === undefined ? {} : { endAt: parseFutureMoment(end, 'end', now) }),
    ...(times === undefined ? {} : { times: parseInteger(times, 'times', { min: 1, max: TIMES_MAX }) }),
    catchUp: parseCatchUp(catchUp),
    overlap: parseOneOf(overlap, 'overlap', ['allow', 'skip']),
    spreadMs: parseDuration(spread, 'spread', { min: 0, max: 365 * DAY_MS }),
  }
}

type RhythmOptions = Partial<Record<'cron' | 'zone' | 'days' | 'except' | 'every', unknown>>

function parseRhythm(given: RhythmOptions, { now, book }: ParseContext): SchedulePlan['rhythm'] {
  const { cron, zone, days, except, every } = given
  const isOfDays = zone !== undefined || days !== undefined || except !== undefined
  if ((cron === undefined) === (every === undefined) || (every !== undefined && isOfDays)) {
    throw new UsageError(
      'OPTION_INVALID',
      'a schedule has "cron" and perhaps "zone", "days" and "except", or it has "every"; give one of them.',
      { value: { cron, zone, days, except, every } },
    )
  }
  if (every !== undefined)
    return { everyMs: parseDuration(every, 'every', { min: EVERY_MS_MIN, max: DELAY_MS_MAX }) }
  if (typeof cron !== 'string' || (zone !== undefined && typeof zone !== 'string')) {
    throw new UsageError(
      'CRON_INVALID',
      `cron is ${describe(cron)}, zone is ${describe(zone)}; give texts such as "0 9 * * *" and "Europe/Berlin".`,
      { value: cron },
    )
  }
  parseWeekdays(days)
  const dates = book.dates(except)
  const rhythm = {
    cron,
    zone: zoneOf(zone ?? 'UTC').name,
    ...(days === undefined ? {} : { days: days as string }),
    ...(dates.length === 0 ? {} : { except: dates }),
  }
  if (new Recurrence(rhythm).next(now) === undefined) {
    const on = days === undefined && dates.length === 0 ? '' : ' with its days and exceptions'
    throw new UsageError(
      'CRON_INVALID',
      `cron is ${describe(cron)}, which${on} names no day that ever comes.`,
      {
        value: cron,
      },
    )
  }
  return rhythm
}

function parseCatchUp(value: unknown): SchedulePlan['catchUp'] {
  if (typeof value !== 'object' || value === null)
    return parseOneOf(value, 'catchUp', ['none', 'one'] as const)
  const { all, max = CATCH_UP_MAX } = checkRecord(value, 'catchUp', ['all', 'max'])
  return {
    allMs: parseDuration(all, 'catchUp.all', { min: 1, max: DELAY_MS_MAX }),
    max: parseInteger(max, 'catchUp.max', { min: 1, max: CATCH_UP_MAX }),
  }
}

export function checkScheduleName(value: unknown): string {
  // Braces mark the part of an id that says where a message lives.
  if (isName(value, NAME_BYTES_MAX) && !/[{}]/.test(value)) return value
  throw new UsageError(
    'ID_INVALID',
    `the name of a schedule is ${describe(value)}; give a text of 1 to ${NAME_BYTES_MAX} bytes without braces and control characters.`,
    { value },
  )
}

/** Of one that is made now. */
export function checkNewScheduleName(value: unknown): string {
  const name = checkScheduleName(value)
  if (isNewName(name, NAME_BYTES_MAX)) return name
  throw new UsageError(
    'ID_INVALID',
    `the name of a schedule is ${describe(value)}, which is a folder in the path of an address; give another name.`,
    { value },
  )
}

/** The id of the message that holds a schedule. */
export function scheduleId(name: string): string {
  return SCHEDULE_MARK + name
}

export function scheduleName(id: string): string {
  return id.slice(SCHEDULE_MARK.length)
}

/** The id of the message that an occurrence becomes. */
export function occurrenceId(name: string, at: number): string {
  return `{${name}}@${new Date(at).toISOString()}`
}

/** The name of the schedule that has placed it; undefined for other ids. */
export function scheduleOfOccurrence(id: string): string | undefined {
  return /^\{(.+)\}@[^}@]+Z$/s.exec(id)?.[1]
}

export function encodeSchedule({ plan, progress }: StoredSchedule): string {
  return JSON.stringify({ version: 1, plan, progress })
}

/** Both were made by the same code, with their parts in the same order. */
export function isSamePlan(a: SchedulePlan, b: SchedulePlan): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

export function hasSameRhythm(a: SchedulePlan, b: SchedulePlan): boolean {
  return JSON.stringify(rhythmOf(a)) === JSON.stringify(rhythmOf(b))
}

/**
 * `every` so often, said again without a start, keeps the start that it had: an imported schedule has one, and the program that
 * takes it over does not know it. Unless that is further away than a new beginning: then it was left out to begin now.
 */
export function keepPhase(plan: SchedulePlan, before: SchedulePlan, now: number): SchedulePlan {
  const { topic, body, meta, priority, rhythm, startAt, ...rest } = plan
  const { rhythm: old, startAt: oldStart } = before
  if (startAt !== undefined || oldStart === undefined) return plan
  if (!('everyMs' in rhythm && 'everyMs' in old) || rhythm.everyMs !== old.everyMs) return plan
  return oldStart > now + rhythm.everyMs
    ? plan
    : { topic, body, meta, priority, rhythm, startAt: oldStart, ...rest }
}

function rhythmOf({ rhythm, startAt, endAt }: SchedulePlan): unknown {
  return { rhythm, startAt, endAt }
}

/** Undefined for what this version does not know. */
export function decodeSchedule(value: unknown): StoredSchedule | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { version, plan, progress } = value as Readonly<Record<string, unknown>>
  const isOurs = version === 1 && typeof plan === 'object' && typeof progress === 'object'
  return isOurs && plan !== null && progress !== null ? (value as StoredSchedule) : undefined
}
