/**
 * Moments as people write and read them.
 *
 *   in    2030-01-01T09:00Z   2030-01-01T09:00+01:00      with an offset: that moment
 *         2030-01-01T09:00    2030-01-01 09:00:30         without: in the local zone
 *         2030-01-01                                      midnight in the local zone
 *         1893488400000                                   epoch milliseconds
 *   out   2030-01-01T09:00:00.000+01:00                   always with its offset, so that it means one moment
 *
 * `Date.parse` is not used: it takes a bare date for UTC and a date with a time for local, and rolls 31 February over.
 */
import { describe } from '../../core/errors.ts'
import { CallError } from './failure.ts'

const MOMENT = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?)?(Z|[+-]\d\d:?\d\d)?$/
const EPOCH_MS = /^\d{9,15}$/
const MINUTE_MS = 60_000

type Fields = readonly [number, number, number, number, number, number, number]

export function parseMomentText(text: string, name: string): number {
  if (EPOCH_MS.test(text)) return Number(text)
  const match = MOMENT.exec(text)
  if (match === null) {
    throw new CallError(
      `${name} is ${describe(text)}; write 2030-01-01T09:00Z, or 2030-01-01T09:00 for the local zone, or epoch milliseconds.`,
    )
  }
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '0', offset] = match
  const fields: Fields = [
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
    Number(fraction.padEnd(3, '0')),
  ]
  return offset === undefined ? localMoment(fields, text, name) : offsetMoment(fields, offset, text, name)
}

/** An hour that a clock change skips does not exist, just as 31 February. */
function localMoment(fields: Fields, text: string, name: string): number {
  const date = new Date(...fields)
  const read: Fields = [
    date.getFullYear(),
    date.getMonth(),
    date.getDate(),
    date.getHours(),
    date.getMinutes(),
    date.getSeconds(),
    date.getMilliseconds(),
  ]
  if (String(read) === String(fields)) return date.getTime()
  throw new CallError(`${name} is ${describe(text)}, which does not exist in the local zone.`)
}

function offsetMoment(fields: Fields, offset: string, text: string, name: string): number {
  const at = Date.UTC(...fields)
  const date = new Date(at)
  const read: Fields = [
    date.getUTCFullYear(),
    date.getUTCMonth(),
    date.getUTCDate(),
    date.getUTCHours(),
    date.getUTCMinutes(),
    date.getUTCSeconds(),
    date.getUTCMilliseconds(),
  ]
  if (String(read) === String(fields)) return at - offsetMs(offset)
  throw new CallError(`${name} is ${describe(text)}, which does not exist.`)
}

function offsetMs(offset: string): number {
  if (offset === 'Z') return 0
  const sign = offset.startsWith('-') ? -1 : 1
  const digits = offset.slice(1).replace(':', '')
  return sign * (Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2))) * MINUTE_MS
}

/** In the local zone, with its offset. */
export function formatMoment(at: number): string {
  const date = new Date(at)
  return `${formatDay(date)}T${formatClock(at)}${formatOffset(-date.getTimezoneOffset())}`
}

function formatDay(date: Date): string {
  return `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/** The time of day to the millisecond, for lines whose day is clear. */
export function formatClock(at: number): string {
  const date = new Date(at)
  const ms = String(date.getMilliseconds()).padStart(3, '0')
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`
}

function formatOffset(minutes: number): string {
  if (minutes === 0) return 'Z'
  const size = Math.abs(minutes)
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
}

function two(number: number): string {
  return String(number).padStart(2, '0')
}
