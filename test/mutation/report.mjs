// Scores by file, and every survivor with its line.
export function printReport(room, mutants) {
  const byFile = groupBy(mutants)
  console.log(`\n${room}: ${score(mutants)}`)
  for (const [file, found] of [...byFile].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    console.log(`  ${file} ${score(found)}`)
  const survivors = mutants.filter(({ isKilled }) => !isKilled)
  if (survivors.length > 0) console.log('survivors:')
  for (const { file, line, what } of survivors) console.log(`  ${file}:${line} ${what}`)
}

function score(mutants) {
  const killed = mutants.filter(({ isKilled }) => isKilled).length
  return `${killed}/${mutants.length} killed, ${mutants.length === 0 ? 100 : Math.floor((100 * killed) / mutants.length)} %`
}

function groupBy(mutants) {
  const groups = new Map()
  for (const mutant of mutants) groups.set(mutant.file, [...(groups.get(mutant.file) ?? []), mutant])
  return groups
}
