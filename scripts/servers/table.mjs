// The matrix in docs/compatibility.md: rows that were run now replace those of before, the others stay.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, run } from '../setup.mjs'

const PAGE = join(ROOT, 'docs/compatibility.md')
const PLACE = /<!-- servers -->\n([^]*?)<!-- \/servers -->/
const HEAD = '| name | server | passed | skipped | failed | date |\n| --- | --- | --- | --- | --- | --- |\n'

export function writeTable(results) {
  const page = readFileSync(PAGE, 'utf8')
  const before = (PLACE.exec(page)?.[1] ?? '').split('\n').filter((line) => line.startsWith('| `'))
  const rows = new Map(before.map((line) => [nameIn(line), line]))
  for (const { name, product, version, passed, skipped, failed, date } of results)
    rows.set(name, `| \`${name}\` | ${product} ${version} | ${passed} | ${skipped} | ${failed} | ${date} |`)
  const sorted = [...rows].toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
  const table = `${HEAD}${sorted.map(([, line]) => line).join('\n')}\n`
  writeFileSync(PAGE, page.replace(PLACE, `<!-- servers -->\n\n${table}\n<!-- /servers -->`))
  run('npx', ['prettier', '--log-level', 'warn', '--write', PAGE])
}

function nameIn(line) {
  return /`([^`]+)`/.exec(line)?.[1] ?? ''
}
