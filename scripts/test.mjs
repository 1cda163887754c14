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
  installPeers,
  installRabbitmq,
  installRedis,
  run,
} from './setup.mjs'

const only = process.argv.slice(2)
installDependencies()
installRedis()
installRabbitmq()
installPeers()
buildIfStale()
if (only.length === 0)
  for (const check of ['types', 'lint', 'format:check']) run('npm', ['run', '--silent', check])

const scratch = mkdtempSync(join(tmpdir(), 'punctual-tests-'))
const report = join(scratch, 'report.json')
const { status } = spawnSync(
  process.execPath,
  [
    join(ROOT, 'node_modules', 'vitest', 'vitest.mjs'),
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...only,
  ],
  { cwd: ROOT, stdio: 'inherit' },
)
let counts = { numPassedTests: 0, numFailedTests: 1 }
try {
  counts = JSON.parse(readFileSync(report, 'utf8'))
} catch {
  console.error('The test runner left no report.')
}
rmSync(scratch, { recursive: true, force: true })
console.log(`${counts.numPassedTests} passed, ${counts.numFailedTests} failed`)
process.exit(status ?? 1)
