/**
 * SQL engines keep whole microseconds: what a server's clock has, and nothing is rounded to an earlier moment. The
 * contract speaks of milliseconds, perhaps with a fraction. Texts, because not every number of a date fits a double.
 */
import type { DueTime } from '../contract/store.ts'

const MICROS_MAX = 9_000_000_000_000_000_000n

export function toMicros(ms: number): string {
  const micros = BigInt(Math.round(ms * 1000))
  return String(micros > MICROS_MAX ? MICROS_MAX : micros < -MICROS_MAX ? -MICROS_MAX : micros)
}

export function toMs(micros: number): number {
  return micros / 1000
}

/** As the two columns of a call: a delay or a moment. */
export function delayOf(when: DueTime): string | null {
  return 'at' in when ? null : toMicros(when.delayMs)
}

export function momentOf(when: DueTime): string | null {
  return 'at' in when ? toMicros(when.at) : null
}
