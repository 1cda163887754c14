/** Moments, spans and counts as people read them. */
import type { BarStep } from './calendar.ts'
import { fieldsOf, offsetText } from './zone.ts'

/** `40,112`. */
export function count(n: number): string {
  const [whole = '', ...tail] = String(n).split('.')
  return [whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ','), ...tail].join('.')
}

/** `1 message`, `2 messages`; `things` where that is no `s`. */
export function plural(n: number, thing: string, things = `${thing}s`): string {
  return `${count(n)} ${n === 1 ? thing : things}`
}

/** For an axis: `950`, `40k`, `1.2M`. */
export function short(n: number): string {
  if (n < 1_000) return String(n)
  if (n < 1_000_000) return `${round(n / 1_000)}k`
  return `${round(n / 1_000_000)}M`
}

function round(n: number): string {
  return n < 10 ? String(Math.round(n * 10) / 10) : String(Math.round(n))
}

const two = (n: number): string => String(n).padStart(2, '0')

/** `2026-11-16 09:00:00`, with milliseconds where there are any. */
export function moment(at: number, zone: string): string {
  const { year, month, day, hour, minute, second, ms } = fieldsOf(at, zone)
  const tail = ms === 0 ? '' : `.${String(ms).padStart(3, '0')}`
  return `${year}-${two(month + 1)}-${two(day)} ${two(hour)}:${two(minute)}:${two(second)}${tail}`
}

/** With its offset: for a program, or somebody elsewhere. */
export function isoMoment(at: number, zone: string): string {
  return moment(at, zone).replace(' ', 'T') + offsetText(at, zone)
}

/** `2026-11-16 09:00`: to the minute, where seconds are none. */
export function dayAndTime(at: number, zone: string): string {
  const { hour, minute, second } = fieldsOf(at, zone)
  return `${dayOf(at, zone)} ${two(hour)}:${two(minute)}${second === 0 ? '' : `:${two(second)}`}`
}

export function dayOf(at: number, zone: string): string {
  return moment(at, zone).slice(0, 10)
}

/** One bar of a calendar: `2026-11-16 09:00 to 09:05`, `2026-11-16`, `2026-11`, `2026`. */
export function barName(from: number, until: number, zone: string): string {
  const [a, b] = [fieldsOf(from, zone), fieldsOf(until, zone)]
  const isMidnight = a.hour + a.minute + a.second === 0 && b.hour + b.minute + b.second === 0
  if (isMidnight) {
    const months = (b.year - a.year) * 12 + b.month - a.month
    const length = a.day > 1 || b.day > 1 ? 10 : a.month > 0 || months % 12 > 0 ? 7 : 4
    const [first, last] = [from, until - 1].map((at) => moment(at, zone).slice(0, length))
    return first === last ? (first ?? '') : `${first} to ${last}`
  }
  const isSameDay = a.day === b.day && a.month === b.month && a.year === b.year
  const end = `${two(b.hour)}:${two(b.minute)}${b.second === 0 ? '' : `:${two(b.second)}`}`
  const isShort = until - from <= 12 * 3_600_000
  return `${dayAndTime(from, zone)} to ${isSameDay || isShort ? end : dayAndTime(until, zone)}`
}

/** Below an axis: as much as the step needs. */
export function tickName(at: number, step: BarStep, zone: string): string {
  const { month, hour, minute, second } = fieldsOf(at, zone)
  const day = dayOf(at, zone)
  if (step.unit === 'month') return day.slice(0, month === 0 ? 4 : 7)
  if (step.unit === 'day' || hour + minute + second === 0) return day.slice(5)
  return `${two(hour)}:${two(minute)}${step.ms < 60_000 ? `:${two(second)}` : ''}`
}

const SPANS = [
  ['y', 365 * 86_400_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** `2.1 ms`, `38 s`, `4 min 5 s`, `3 d 2 h`. */
export function span(lengthMs: number): string {
  const length = Math.abs(lengthMs)
  if (length === 0) return '0 ms'
  if (length < 1) return '<1 ms'
  if (length < 1_000) return `${length < 10 ? Math.round(length * 10) / 10 : Math.round(length)} ms`
  if (length < 10_000) return `${Math.floor(length / 100) / 10} s`
  const at = SPANS.findIndex(([, size]) => length >= size)
  const [unit, size] = SPANS[at] ?? ['s', 1_000]
  const whole = Math.floor(length / size)
  const [smaller, smallerSize] = SPANS[at + 1] ?? ['', Infinity]
  const rest = Math.floor((length - whole * size) / smallerSize)
  return rest === 0 || whole >= 10 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${smaller}`
}

/** Whole seconds, so that a line that is written anew every second does not flicker. */
export function distance(at: number, now: number): string {
  const ms = Math.round((at - now) / 1_000) * 1_000
  if (ms === 0) return 'now'
  return ms > 0 ? `in ${span(ms)}` : `${span(ms)} ago`
}

export function ago(at: number, now: number): string {
  return span(Math.max(0, Math.round((now - at) / 1_000) * 1_000) || 0)
}

export function bytes(n: number): string {
  return n < 1_024 ? `${n} B` : n < 1_048_576 ? `${round(n / 1_024)} KiB` : `${round(n / 1_048_576)} MiB`
}

/** The first line of a text, cut. */
export function firstLine(text: string, max = 160): string {
  const line = text.split('\n', 1)[0] ?? ''
  return line.length > max ? `${line.slice(0, max)}…` : line
}
