/** Moments as Redis writes scores. Somebody else may have written one that is no date. */
const MOMENT_MAX = 8_640_000_000_000_000

export function momentOf(score: unknown): number {
  const at = Number(score)
  if (Number.isFinite(at)) return at
  return String(score).startsWith('-') ? 0 : MOMENT_MAX
}
