// The one test command: installs what is missing, builds, checks, runs the tests, and ends with a line that counts.
//   npm test                      what proves the product
//   npm run test:all              that, and after it the files called *.long.test.ts
//   npm test -- test/core         some files (skips the checks)
//   npm test -- --times           also says where the time went: by folder, file and test, and on what
//   npm test -- --minutes 90      ends what is not over by then, as failed; default: 60
// In CI (CI=true) a skipped test is a failure, and a file that fails is run once more, alone: scripts/testing/run.mjs.
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  ROOT,
  buildIfStale,
  installDependencies,
  installHosts,
  installMigrating,
  installPeers,
  installPrograms,
  installRecipes,
  installRuntimes,
  installSite,
  installSurroundings,
  run,
} from './setup.mjs'
import { runStages } from './testing/run.mjs'
import { costsOf, keepLongest, printTimes } from './testing/times.mjs'

const words = process.argv.slice(2)
const isAll = take('--all')
const showsTimes = take('--times')
// A small project of its own with the runner's own tests: nothing is installed, built or checked for it.
const elsewhere = takeValue('--root')
const minutes = Number(takeValue('--minutes') ?? 60)
const root = elsewhere === undefined ? ROOT : resolve(elsewhere)
const isCi = process.env.CI === 'true'
const isWhole = words.length === 0

if (elsewhere === undefined) {
  installDependencies()
  installPrograms()
  installPeers()
  installRecipes()
  installMigrating()
  installSite()
  installSurroundings()
  installHosts()
  installRuntimes()
  buildIfStale()
  if (isWhole) for (const check of ['types', 'lint']) run('npm', ['run', '--silent', check])
}
// The slowest of the checks, beside the tests, which mostly wait.
const formatting =
  isWhole && elsewhere === undefined ? runAside('npm', ['run', '--silent', 'format:check']) : undefined

// Four at once keep two cores busy; VITEST_MAX_WORKERS says otherwise.
const WORKERS = ['--maxWorkers', '4']
const FIRST = [...WORKERS, '--project', 'tests', '--project', 'alone']
const REST = [...WORKERS, '--project', 'long', '--project', 'storms']
const stages = isWhole && elsewhere === undefined ? [FIRST, ...(isAll ? [REST] : [])] : [words]
const outcome = await runStages({ root, stages, isCi, capMs: minutes * 60_000 })
const { passed, failures, failedOnce, skipped } = outcome
const broken = [...outcome.broken, ...((await formatting) ?? [])]

if (showsTimes) printTimes(outcome.files)
if (showsTimes && isWhole) keepLongest(outcome.files)
for (const { name } of skipped) console.log(`skipped: ${name.trim()}`)
// Where everything can be installed, a skip hides a broken set-up.
const isSkipAFailure = isCi && skipped.length > 0 && isWhole
if (isSkipAFailure) console.error('In CI every test must run: a skipped one is a failure.')
for (const message of broken) console.error(message)
for (const { file, test, message } of failures) console.log(`failed: ${file}: ${test}: ${message}`)
for (const { file, test, message } of failedOnce)
  console.log(`failed once, passed alone: ${file}: ${test}: ${message}`)
if (failedOnce.length > 0) console.log(`${failedOnce.length} failed once, passed alone`)

const failed = failures.length + broken.length + (isSkipAFailure ? skipped.length : 0)
keep({ passed, failed, failures, failedOnce, skipped, broken, costs: costsOf(outcome.files) })
console.log(`${passed} passed, ${failed} failed, ${skipped.length} skipped`)
process.exit(failed === 0 ? 0 : 1)

/** Answers what it said if it fails, and nothing if not. */
function runAside(command, args) {
  const child = spawn(command, args, { cwd: root, shell: process.platform === 'win32' })
  const said = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => said.push(chunk))
  return new Promise((done) =>
    child.once('close', (code) => done(code === 0 ? [] : [Buffer.concat(said).toString()])),
  )
}

/** What this run found, for people and programs that come later. */
function keep(report) {
  const folder = join(root, '.tests')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'report.json'), `${JSON.stringify(report, undefined, 2)}\n`)
}

function take(name) {
  const at = words.indexOf(name)
  if (at >= 0) words.splice(at, 1)
  return at >= 0
}

function takeValue(name) {
  const at = words.indexOf(name)
  return at < 0 ? undefined : words.splice(at, 2)[1]
}
