/** Moments that a person types into a form: `datetime-local` fields hold what the clock of the chosen zone shows. */
import { momentOf, wallOf } from './zone.ts'

/** For the value of a `datetime-local` field. */
export function toField(at: number, zone: string): string {
  return new Date(wallOf(at, zone)).toISOString().slice(0, 19)
}

/** Undefined: the field is empty or no date. */
export function fromField(text: string, zone: string): number | undefined {
  const wall = text === '' ? Number.NaN : Date.parse(`${text}Z`)
  return Number.isNaN(wall) ? undefined : momentOf(wall, zone)
}
