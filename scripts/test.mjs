// The one test command: installs what is missing, builds, checks, runs every test, and ends with a line that counts.
//   npm test                      everything
//   npm test -- test/core         some of it (skips the checks)
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  ROOT,
  buildIfStale,
  installDependencies,
  installMigrating,
  installPeers,
  installPrograms,
  installRecipes,
  installSite,
  installSurroundings,
  run,
} from './setup.mjs'

const only = process.argv.slice(2)
installDependencies()
installPrograms()
installPeers()
installRecipes()
installMigrating()
installSite()
installSurroundings()
buildIfStale()
if (only.length === 0)
  for (const check of ['types', 'lint', 'format:check']) run('npm', ['run', '--silent', check])

const scratch = mkdtempSync(join(tmpdir(), 'punctual-tests-'))
const reportFile = join(scratch, 'report.json')
const { status } = spawnSync(
  process.execPath,
  [
    join(ROOT, 'node_modules', 'vitest', 'vitest.mjs'),
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${reportFile}`,
    ...only,
  ],
  { cwd: ROOT, stdio: 'inherit' },
)
let report = { numPassedTests: 0, numFailedTests: 1, numPendingTests: 0, testResults: [] }
try {
  report = JSON.parse(readFileSync(reportFile, 'utf8'))
} catch {
  console.error('The test runner left no report.')
}
rmSync(scratch, { recursive: true, force: true })
const skipped = report.testResults
  .flatMap(({ assertionResults }) => assertionResults)
  .filter(({ status: outcome }) => outcome === 'pending' || outcome === 'skipped')
for (const { fullName } of skipped) console.log(`skipped: ${fullName.trim()}`)
// Where everything can be installed, a skip hides a broken set-up.
const isSkipAFailure = process.env.CI === 'true' && skipped.length > 0 && only.length === 0
if (isSkipAFailure) console.error('In CI every test must run: a skipped one is a failure.')
const failed = report.numFailedTests + (isSkipAFailure ? skipped.length : 0)
console.log(`${report.numPassedTests} passed, ${failed} failed, ${skipped.length} skipped`)
process.exit(isSkipAFailure ? 1 : (status ?? 1))
