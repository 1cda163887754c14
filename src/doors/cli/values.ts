/** What several commands take as the value of an option, checked before anything is opened. */
import { readFileSync } from 'node:fs'
import { describe, UsageError } from '../../core/errors.ts'
import { parseDuration } from '../../core/input/duration.ts'
import { MESSAGE_STATES } from '../../core/message.ts'
import type { Calendars, Duration, IfExpired, MessageState, When } from '../../index.ts'
import type { OptionSpecs } from './command.ts'
import { CallError } from '../shared/failure.ts'
import { parseAtText, parseWorkdaysText } from '../shared/local-words.ts'
import { parseMomentText } from '../shared/moment.ts'

/** `--delay` and `--at`. */
export const WHEN_OPTIONS = {
  delay: { type: 'string', value: 'DURATION', help: 'after this time: 250ms, 30s, 5m, 48h, 7d' },
  at: {
    type: 'string',
    value: 'MOMENT',
    help: '2030-01-01T09:00Z, 2030-01-01T09:00 for the local zone, "09:00 Europe/Berlin", or epoch milliseconds',
  },
  after: {
    type: 'string',
    value: 'WORKDAYS',
    help: 'so many working days on: "3 workdays,09:00,except 12-25,Europe/Berlin"',
  },
} as const satisfies OptionSpecs

/** A file with the calendars that windows, working days and schedules name. */
export const CALENDAR_OPTIONS = {
  calendars: {
    type: 'string',
    value: 'FILE',
    help: 'JSON with dates by name: {"de": ["12-25", "2027-04-02"]}',
  },
} as const satisfies OptionSpecs

/** The library checks what is in it. */
export function readCalendars({ calendars: file }: { readonly calendars?: string }): {
  calendars?: Calendars
} {
  if (file === undefined) return {}
  try {
    return { calendars: JSON.parse(readFileSync(file, 'utf8')) as Calendars }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new CallError(`--calendars ${describe(file)} cannot be read as JSON: ${why}.`)
  }
}

/** How late a message may start, and how a burst is spread out: of `produce` and of schedules. */
export const LATE_OPTIONS = {
  ttl: {
    type: 'string',
    value: 'DURATION',
    help: 'not started this long after it is due: see --if-expired',
  },
  'if-expired': {
    type: 'string',
    value: 'WHAT',
    help: 'dead (default): to the dead letters; skip: completed without having run',
  },
  spread: {
    type: 'string',
    value: 'DURATION',
    help: 'due later by a share of this time, which depends on the id alone',
  },
} as const satisfies OptionSpecs

type LateValues = { readonly ttl?: string; readonly 'if-expired'?: string; readonly spread?: string }

/** The library checks them. */
export function parseLate({ ttl, spread, 'if-expired': ifExpired }: LateValues): LatePolicy {
  return {
    ...(ttl === undefined ? {} : { ttl: ttl as Duration }),
    ...(ifExpired === undefined ? {} : { ifExpired: ifExpired as IfExpired }),
    ...(spread === undefined ? {} : { spread: spread as Duration }),
  }
}

type LatePolicy = { ttl?: Duration; ifExpired?: IfExpired; spread?: Duration }

/** A payload as a word of the command line. */
export function parsePayload(text: string | undefined): unknown {
  // Node has made U+FFFD of the bytes of an argument that are not UTF-8.
  if (text?.includes('\ufffd') === true)
    throw new UsageError(
      'ENCODING_INVALID',
      'the payload has bytes that are not UTF-8, or U+FFFD, which looks the same in an argument; write U+FFFD as \\ufffd, or send the payload through standard input with "-".',
    )
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new CallError(
      `the payload ${describe(text).slice(1, -1)} is not JSON; a text needs its quotes: '"hello"'.`,
    )
  }
}

type WhenValues = { readonly delay?: string; readonly at?: string; readonly after?: string }

/** The library checks the delay itself; a text that it refuses is named there. */
export function parseWhen({ delay, at, after }: WhenValues): When {
  const given = Object.entries({ delay, at, after }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`],
  )
  if (given.length > 1) throw new CallError(`${given.join(' and ')} together; give one.`)
  if (at !== undefined) return { at: parseAtText(at, '--at') }
  if (after !== undefined) return { after: parseWorkdaysText(after, '--after') }
  return delay === undefined ? {} : { delay: delay as Duration }
}

const DURATION = /^[\d.]+(?:ms|s|m|h|d)$/

/** A moment, or a time from now: `--due-until 1h`. */
export function parseAheadText(text: string, name: string, now: number): number {
  return DURATION.test(text) ? now + parseDuration(text, name) : parseMomentText(text, name)
}

/** `--limit 20`: a whole number in its range. */
export function parseWholeNumber(
  text: string,
  name: string,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= min && number <= max) return number
  throw new CallError(`${name} is ${describe(text)}; give a whole number from ${min} to ${max}.`)
}

/** `--state dead`. */
export function parseState(text: string, allowed: readonly MessageState[] = MESSAGE_STATES): MessageState {
  const found = allowed.find((state) => state === text)
  if (found !== undefined) return found
  throw new CallError(`--state is ${describe(text)}; give one of: ${allowed.join(', ')}.`)
}
