// Runs the suites of the engines on real servers of other versions, and writes what came out into docs/compatibility.md.
//   npm run test:servers                              all of them
//   npm run test:servers -- --only mysql-9,redis-8    some of them
//   npm run test:servers -- --list                    their names
//   npm run test:servers -- --only mysql-9 test/store/mysql/conformance.test.ts    some tests: writes no table
// Servers come from newer suites of Debian and from npm into a scratch folder, which stays for the next run (--fresh: is made anew);
// nothing is installed. Ends with 1 if a test failed.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROWS } from './servers/rows.mjs'
import { bringFromDebian } from './servers/debian.mjs'
import { bringFromNpm } from './servers/npm.mjs'
import { startMysql } from './servers/mysql.mjs'
import { writeTable } from './servers/table.mjs'
import { ROOT, installDependencies, installMigrating, installRecipes } from './setup.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' },
    list: { type: 'boolean', default: false },
    fresh: { type: 'boolean', default: false },
  },
})
if (values.list) {
  for (const { name } of ROWS) console.log(name)
  process.exit(0)
}
const wanted = values.only?.split(',') ?? ROWS.map(({ name }) => name)
const unknown = wanted.filter((name) => !ROWS.some((row) => row.name === name))
if (unknown.length > 0) {
  console.error(
    `there is no server ${unknown.join(', ')}; there are: ${ROWS.map(({ name }) => name).join(', ')}`,
  )
  process.exit(2)
}

installDependencies()
// Of tests beside those of the engines.
installRecipes()
installMigrating()
const results = []
for (const row of ROWS.filter(({ name }) => wanted.includes(name))) {
  console.log(`\u2022 ${row.name}: bringing it here`)
  const bin = bring(row)
  const version = versionOf(row, bin)
  console.log(`\u2022 ${row.name}: ${row.product} ${version}, its tests run`)
  const result = {
    name: row.name,
    product: row.product,
    version,
    date: today(),
    ...(await runTests(row, bin)),
  }
  results.push(result)
  console.log(
    `\u2022 ${row.name}: ${result.passed} passed, ${result.skipped} skipped, ${result.failed} failed${result.names.map((name) => `\n    ${name}`).join('')}`,
  )
}
if (positionals.length === 0) writeTable(results)
process.exit(results.some(({ failed }) => failed > 0) ? 1 : 0)

function bring({ name, source, names }) {
  const folder = join(tmpdir(), 'punctual-servers', name)
  if (values.fresh) rmSync(folder, { recursive: true, force: true })
  return source.from === 'debian' ? bringFromDebian(folder, source, names) : bringFromNpm(folder, source)
}

function versionOf({ source }, bin) {
  const said = execFileSync(join(bin, source.program ?? 'postgres'), ['--version'], { encoding: 'utf8' })
  return /\d+\.\d+(\.\d+)?/.exec(said)?.[0] ?? 'unknown'
}

async function runTests({ name, product, source, tests, only }, bin) {
  const place = mkdtempSync(join(tmpdir(), 'punctual-servers-run-'))
  const report = join(place, 'report.json')
  const mysql = product === 'MySQL' ? await startMysql(bin) : undefined
  try {
    const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }
    if (mysql !== undefined) env.PUNCTUAL_TEST_MYSQL = mysql.url
    if (source.from === 'npm') env.PUNCTUAL_TEST_POSTGRES_PROGRAMS = bin
    const paths = positionals.length === 0 ? tests : positionals
    const words = ['vitest', 'run', ...paths, '--project', 'tests', '--maxWorkers', '2', '--no-color']
    spawnSync('npx', [...words, '--reporter=dot', '--reporter=json', `--outputFile=${report}`], {
      cwd: ROOT,
      env,
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    return countIn(JSON.parse(readFileSync(report, 'utf8')), only, name)
  } finally {
    await mysql?.stop()
    rmSync(place, { recursive: true, force: true })
  }
}

/** In files that run on every engine, what names another engine is not counted. */
function countIn({ testResults }, only) {
  const counted = testResults.flatMap(({ name: file, message, assertionResults }) => {
    if (assertionResults.length === 0 && message !== '')
      return [{ status: 'failed', fullName: `${file}: ${message}` }]
    const isShared = /store\/[^/]+\.test\.ts$/.test(file)
    return assertionResults.filter(({ fullName }) => !isShared || only.test(fullName))
  })
  const of = (...statuses) => counted.filter(({ status }) => statuses.includes(status))
  const failed = of('failed')
  return {
    passed: of('passed').length,
    skipped: of('pending', 'skipped', 'todo').length,
    failed: failed.length,
    names: failed.map(({ fullName }) => fullName),
  }
}

function today() {
  return new Date().toISOString().slice(0, 10)
}
