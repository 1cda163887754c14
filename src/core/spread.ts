/**
 * Messages that would all be due at once, spread over a window: each gets a share of it that depends on its id alone, so
 * that the same message asked for twice gets the same moment. Never earlier.
 */
import type { DueMoment } from './input/request.ts'

/** Whole milliseconds from 0 up to, and without, the window. */
export function spreadMs(id: string, windowMs: number): number {
  return Math.floor((hash(id) / 2 ** 32) * windowMs)
}

export function spreadOut(when: DueMoment, id: string, windowMs: number): DueMoment {
  if (windowMs === 0) return when
  const share = spreadMs(id, windowMs)
  return 'at' in when ? { at: when.at + share } : { delayMs: when.delayMs + share }
}

/** FNV-1a over UTF-16 units, and a last mix, because ids that count up differ in their last character only. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i += 1) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35)
  return (value ^ (value >>> 16)) >>> 0
}
