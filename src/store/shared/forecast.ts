/** The edges of a forecast: what is refused, and in which bar a moment falls. */
import { UsageError, describe } from '../../core/errors.ts'

export const EDGES_MAX = 1_001

export function checkEdges(edges: readonly number[]): void {
  const isAscending = edges.every(
    (edge, i) => Number.isFinite(edge) && (i === 0 || edge > (edges[i - 1] ?? edge)),
  )
  if (edges.length >= 2 && edges.length <= EDGES_MAX && isAscending) return
  throw new UsageError(
    'OPTION_INVALID',
    `edges are ${describe(edges)}; give 2 to ${EDGES_MAX} moments in epoch milliseconds, each after the one before.`,
    { value: edges },
  )
}

/** The bar that holds this moment, or -1. `low` and `high` narrow the search to bars between them. */
export function barOf(edges: ArrayLike<number>, at: number, low = 0, high = edges.length - 2): number {
  if (!(at >= (edges[0] as number)) || at >= (edges[edges.length - 1] as number)) return -1
  let [first, last] = [low, high]
  while (first < last) {
    const middle = (first + last + 1) >> 1
    if (at >= (edges[middle] as number)) first = middle
    else last = middle - 1
  }
  return first
}
