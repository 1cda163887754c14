/** Moments that a person types into a form: what the clock of the chosen zone shows, as `2026-11-16 09:00:30`. */
import { momentOf, wallOf } from './zone.ts'

/** For the value of a field; seconds where there are any. */
export function toField(at: number, zone: string): string {
  const text = new Date(wallOf(at, zone)).toISOString().slice(0, 19).replace('T', ' ')
  return text.endsWith(':00') ? text.slice(0, 16) : text
}

const TYPED = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?))?$/

/** Undefined: the field is empty or no date. Without a time: the beginning of the day. */
export function fromField(text: string, zone: string): number | undefined {
  const [, date, time = '00:00'] = TYPED.exec(text.trim()) ?? []
  const wall = date === undefined ? Number.NaN : Date.parse(`${date}T${time}Z`)
  return Number.isNaN(wall) ? undefined : momentOf(wall, zone)
}
