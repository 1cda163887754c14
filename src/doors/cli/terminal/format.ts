/** Numbers and spans of time as people read them, and as bars. */

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** 12,345 */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US')
}

/** "1 message", "2 messages". */
export function plural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** Short spans with three figures (0.42 ms, 12.3 ms, 1.25 s), long ones with two units (3h 5m, 2d 4h). */
export function formatSpan(ms: number): string {
  if (ms < 0) return `-${formatSpan(-ms)}`
  if (ms < SECOND_MS - 0.5) return `${threeFigures(ms)} ms`
  if (ms < MINUTE_MS - 50) return `${threeFigures(ms / SECOND_MS)} s`
  // Rounded before the unit is chosen: else 59.9 minutes would be "60m".
  const [inSeconds, inMinutes] = [roundTo(ms, SECOND_MS), roundTo(ms, MINUTE_MS)]
  if (inSeconds < HOUR_MS) return twoUnits(inSeconds, [MINUTE_MS, 'm'], [SECOND_MS, 's'])
  if (inMinutes < DAY_MS) return twoUnits(inMinutes, [HOUR_MS, 'h'], [MINUTE_MS, 'm'])
  return twoUnits(roundTo(ms, HOUR_MS), [DAY_MS, 'd'], [HOUR_MS, 'h'])
}

function threeFigures(value: number): string {
  return value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)
}

function roundTo(ms: number, unitMs: number): number {
  return Math.round(ms / unitMs) * unitMs
}

type SpanUnit = readonly [ms: number, name: string]

function twoUnits(ms: number, [bigMs, bigName]: SpanUnit, [smallMs, smallName]: SpanUnit): string {
  const small = (ms % bigMs) / smallMs
  return `${Math.floor(ms / bigMs)}${bigName}${small === 0 ? '' : ` ${small}${smallName}`}`
}

/** "in 30m", "2d 4h ago", "now". */
export function formatDistance(at: number, now: number): string {
  const ms = at - now
  if (Math.abs(ms) < 1) return 'now'
  return ms > 0 ? `in ${formatSpan(ms)}` : `${formatSpan(-ms)} ago`
}

// Bars are made of eighths of a block, so that a small difference can still be seen.
const PARTS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const
const LEVELS = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const

/** A bar that lies; anything above nothing shows at least a sliver. */
export function bar(value: number, max: number, width: number): string {
  if (value <= 0 || max <= 0) return ''
  const eighths = Math.max(1, Math.round((Math.min(value, max) / max) * width * 8))
  return '█'.repeat(Math.floor(eighths / 8)) + (PARTS[eighths % 8] ?? '')
}

/** One standing bar per value. */
export function sparkline(values: readonly number[], max = Math.max(...values)): string {
  return values
    .map((value) => LEVELS[value <= 0 ? 0 : Math.max(1, Math.round((Math.min(value, max) / max) * 8))])
    .join('')
}

/** How far something has come: filled, then empty, always `width` columns. */
export function gauge(share: number, width: number): { readonly filled: string; readonly empty: string } {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * width)
  return { filled: '━'.repeat(filled), empty: '─'.repeat(width - filled) }
}
