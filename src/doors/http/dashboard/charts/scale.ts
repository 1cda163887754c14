/** From counts to heights, and round numbers beside an axis. */

export type ScaleName = 'root' | 'linear'

/** By the square root one burst of 40,000 does not flatten bars of 40; a bar that holds anything can be seen. */
export function heightOf(count: number, max: number, height: number, scale: ScaleName): number {
  if (count <= 0 || max <= 0) return 0
  const share = scale === 'root' ? Math.sqrt(count / max) : count / max
  return Math.max(2, share * height)
}

/** The smallest of 1, 2, 5, 10, 20, 50, … that is at least this. */
export function roundUp(n: number): number {
  if (n <= 1) return 1
  const power = 10 ** Math.floor(Math.log10(n))
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= n) ?? 10
  return factor * power
}

/** Two or three labels that lie apart: the top, and what stands at about a half and a quarter of the height. */
export function levelsOf(max: number, scale: ScaleName): number[] {
  if (max <= 1) return max === 1 ? [1] : []
  const share = scale === 'root' ? 0.25 : 0.5
  const middle = roundDown(max * share)
  return middle >= 1 && middle < max * 0.7 ? [max, middle] : [max]
}

function roundDown(n: number): number {
  if (n < 1) return 0
  const power = 10 ** Math.floor(Math.log10(n))
  const factor = [5, 2, 1].find((candidate) => candidate * power <= n) ?? 1
  return factor * power
}
