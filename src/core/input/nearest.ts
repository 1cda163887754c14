/** What was probably meant by a word that is none of the known ones. */

const DISTANCE_MAX = 2

/** What other queues call it. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ['attempts', 'retry'],
  ['backoff', 'retry'],
  ['connection', 'store'],
  ['jobId', 'id'],
  ['job-id', 'id'],
  ['timezone', 'zone'],
  ['tz', 'zone'],
])

/** The name that was probably meant: another word for it, or at most two letters away and not all of its own. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  const same = ELSEWHERE.get(word)
  if (same !== undefined && names.includes(same)) return same
  const ranked = names
    .map((name) => ({ name, distance: editDistance(word, name) }))
    .toSorted((a, b) => a.distance - b.distance)
  const [best] = ranked
  return best !== undefined && best.distance <= DISTANCE_MAX && best.distance < best.name.length
    ? best.name
    : undefined
}

/** Letters to insert, delete or change; row by row, keeping one row. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 0; i < from.length; i += 1) {
    const next = [i + 1]
    for (let j = 1; j <= to.length; j += 1) {
      const changed = (row[j - 1] ?? 0) + (to[j - 1] === from[i] ? 0 : 1)
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
