/**
 * Runs stages of test files, one after another, and looks twice at what fails.
 *
 *   stage, stage, ...   as they are given; a failure does not keep the next one from running
 *   alone               in CI: each file that failed is run once more, by itself. What passes then has passed, and is listed
 *   sum                 over everything
 *
 * A file that always fails fails twice, so it fails. One that passes alone is a bug as well (two files that disturb each other, a
 * cap that is too tight): the list names it, but it does not refuse work that has nothing to do with it.
 *
 * Nothing hangs: what is not over by the deadline is ended, and counts as failed.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** For all second looks together, after everything else. */
const ALONE_CAP_MS = 15 * 60_000
/** How long a runner that is told to stop may take. */
const STOP_MS = 15_000

/**
 * `stages`: the words for vitest, one list for each. Answers
 * `{ passed, failed, skipped, failures, failedOnce, files, broken }`.
 */
export async function runStages({ root, stages, isCi, capMs }) {
  const scratch = mkdtempSync(join(tmpdir(), 'punctual-tests-'))
  try {
    let runs = 0
    const run = (words, until) => {
      runs += 1
      return vitest({ root, words, record: join(scratch, `${runs}.jsonl`), until })
    }
    const deadline = Date.now() + capMs
    const outcomes = []
    for (const words of stages) outcomes.push(await run(words, deadline))
    const files = new Map(outcomes.flatMap(({ files: of }) => [...of]))
    const broken = outcomes.flatMap(({ broken: of }) => of)
    const failedOnce =
      isCi && broken.length === 0 ? await lookAgain({ files, run, until: Date.now() + ALONE_CAP_MS }) : []
    return { ...sumOf([...files.values()]), failedOnce, files: [...files.values()], broken }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** Each file that failed, alone; one that passes takes the place of the one that failed. */
async function lookAgain({ files, run, until }) {
  const failedOnce = []
  for (const [key, first] of [...files].filter(([, { hasFailed }]) => hasFailed)) {
    if (Date.now() >= until) {
      console.log(`no time is left to run ${first.file} once more`)
      continue
    }
    console.log(`\n\u2022 once more, alone: ${first.file}`)
    const { files: again, broken } = await run(
      ['--project', first.project, '--maxWorkers', '1', first.path],
      until,
    )
    const second = again.get(key)
    // Nothing that ran, or fewer tests than the first time, proves nothing.
    const isProven =
      second !== undefined &&
      broken.length === 0 &&
      !second.hasFailed &&
      second.tests.length > 0 &&
      second.tests.length >= first.tests.length
    if (!isProven) continue
    files.set(key, second)
    for (const { test, message } of first.failures) failedOnce.push({ file: first.file, test, message })
  }
  return failedOnce
}

/** One run of vitest: what became of each file, by project and path, and what belongs to no file. */
async function vitest({ root, words, record, until }) {
  const child = spawn(
    process.execPath,
    [
      join(import.meta.dirname, '../../node_modules/vitest/vitest.mjs'),
      'run',
      '--reporter=default',
      `--reporter=${join(import.meta.dirname, 'reporter.mjs')}`,
      ...words,
    ],
    {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, PUNCTUAL_TEST_RECORD: record },
      // A group of its own, so that a runner that hangs is ended with all that it started.
      detached: process.platform !== 'win32',
    },
  )
  const { status, isLate } = await ended(child, until)
  return read({ record, status, isLate })
}

function ended(child, until) {
  return new Promise((resolve) => {
    let isLate = false
    let kill
    const stop = setTimeout(
      () => {
        isLate = true
        child.kill('SIGTERM')
        kill = setTimeout(() => killGroup(child), STOP_MS)
      },
      Math.max(0, until - Date.now()),
    )
    const onSignal = (name) => child.kill(name)
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
    child.once('exit', (status) => {
      clearTimeout(stop)
      clearTimeout(kill)
      process.off('SIGTERM', onSignal)
      process.off('SIGINT', onSignal)
      // A thread that never lets go outlives the runner that it belongs to.
      if (isLate) killGroup(child)
      resolve({ status, isLate })
    })
  })
}

function killGroup(child) {
  try {
    process.kill(process.platform === 'win32' ? child.pid : -child.pid, 'SIGKILL')
  } catch {
    // It ended meanwhile.
  }
}

function read({ record, status, isLate }) {
  const lines = linesOf(record)
  const selected = lines.flatMap((line) => line.selected ?? [])
  const files = new Map()
  for (const { ended: file } of lines) if (file !== undefined) files.set(keyOf(file), judged(file))
  const over = lines.find((line) => line.over !== undefined)?.over
  const unfinished = selected
    .filter((one) => !files.has(keyOf(one)))
    .map((one) => ({ ...one, tests: [], failures: [], hasFailed: false, testsMs: 0, importsMs: 0 }))
  for (const file of unfinished) {
    files.set(keyOf(file), file)
    addFailure(file, {
      test: 'the file',
      message: isLate ? 'it did not end in time' : 'it did not run to its end',
    })
  }
  const broken = []
  for (const { path, message } of over?.stray ?? []) {
    const file = [...files.values()].find((one) => one.path === path)
    if (file !== undefined) addFailure(file, { test: 'outside of its tests', message })
    // A process that dies takes its file with it, and is named without it.
    else if (unfinished.length === 0) broken.push(message)
  }
  const hasFailed = [...files.values()].some((file) => file.hasFailed)
  // The runner may fail for a reason that it told of no file: that must not be lost.
  if (isLate) broken.push('The tests were not over in time, and were ended.')
  else if (over === undefined) broken.push('The test runner ended without a report.')
  else if (status !== 0 && !hasFailed && broken.length === 0)
    broken.push(`The test runner ended with ${status}, and named no failure.`)
  return { files, broken }
}

function judged({ tests, errors, suiteErrors, state, ...file }) {
  const failures = tests
    .filter((test) => test.state === 'failed')
    .map(({ name, message = 'no message' }) => ({ test: name, message }))
  const others = [...errors, ...suiteErrors].map((message) => ({ test: 'the file', message }))
  // A hook that fails takes the tests of its suite with it, which have no error of their own then.
  if (failures.length === 0) failures.push(...others)
  if (failures.length === 0 && state === 'failed')
    failures.push({ test: 'the file', message: 'it failed without a message' })
  return { ...file, tests, failures, hasFailed: failures.length > 0 }
}

function addFailure(file, failure) {
  file.failures.push(failure)
  file.hasFailed = true
}

function sumOf(files) {
  const tests = files.flatMap((file) => file.tests.map((test) => ({ ...test, file: file.file })))
  const skipped = tests.filter(({ state }) => state === 'skipped' || state === 'pending')
  const failures = files.flatMap(({ file, failures: of }) => of.map((failure) => ({ file, ...failure })))
  return {
    passed: tests.filter(({ state }) => state === 'passed').length,
    failed: failures.length,
    failures,
    skipped,
  }
}

function linesOf(record) {
  try {
    return readFileSync(record, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  } catch {
    return []
  }
}

function keyOf({ project, path }) {
  return `${project} ${path}`
}
