/** Bars out of eighths of a block, so that a small difference can still be seen. */

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
