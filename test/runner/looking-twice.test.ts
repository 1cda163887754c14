/**
 * The test command itself, on a small project of its own: in CI a file that fails is looked at twice, and nothing that always
 * fails gets past that. Each case is a file of `fixture/`.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'

const COMMAND = resolve(import.meta.dirname, '../../scripts/test.mjs')
const FIXTURE = join(import.meta.dirname, 'fixture')

type Told = { readonly file: string; readonly test: string; readonly message: string }
type Report = {
  readonly failures: readonly Told[]
  readonly failedOnce: readonly Told[]
  readonly costs: readonly Readonly<Record<string, number>>[]
}
type Run = { readonly code: number; readonly lines: readonly string[]; readonly report: Report }

async function run(
  cases: readonly string[],
  { CI, words = [] }: { CI: string; words?: string[] },
): Promise<Run> {
  const scratch = await mkdtemp(join(tmpdir(), 'punctual-runner-'))
  onTestFinished(() => rm(scratch, { recursive: true, force: true }))
  const { PUNCTUAL_TEST_RECORD: _record, NO_COLOR: _colour, ...outer } = process.env
  const env = { ...outer, CI, RUNNER_SCRATCH: scratch }
  const args = [COMMAND, '--root', FIXTURE, ...words, ...cases.map((name) => `${name}.case.ts`)]
  const { code, stdout } = await new Promise<{ code: number; stdout: string }>((done) => {
    const child = execFile(process.execPath, args, { env }, (_error, out) =>
      done({ code: child.exitCode ?? -1, stdout: out }),
    )
  })
  const report = JSON.parse(await readFile(join(FIXTURE, '.tests/report.json'), 'utf8')) as Report
  return { code, lines: stdout.trimEnd().split('\n'), report }
}

const SECOND = {
  file: 'every-second.case.ts',
  test: 'passes from its second run on',
  message: 'the first time',
}

it('in CI, one that fails and then passes alone is listed, in the last lines and in the report, and the run passes', async () => {
  const { code, lines, report } = await run(['good', 'every-second'], { CI: 'true' })
  expect(lines.slice(-3)).toEqual([
    'failed once, passed alone: every-second.case.ts: passes from its second run on: the first time',
    '1 failed once, passed alone',
    '2 passed, 0 failed, 0 skipped',
  ])
  expect(report).toMatchObject({ failures: [], failedOnce: [SECOND] })
  expect(code).toBe(0)
})

it('in CI, what always fails is looked at twice, and fails', async () => {
  const cases = ['always', 'hook', 'load', 'stray', 'dies', 'shrinks']
  const { code, lines, report } = await run(['good', ...cases], { CI: 'true' })
  expect(lines.filter((line) => line.includes('once more, alone'))).toHaveLength(cases.length)
  expect(report.failedOnce).toEqual([])
  const told = report.failures.map(({ file, test, message }) => [file, test, message])
  expect(told.toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual([
    ['always.case.ts', 'always fails', 'as it always does'],
    ['dies.case.ts', 'the file', 'it did not run to its end'],
    ['hook.case.ts', 'the file', 'before everything'],
    ['load.case.ts', 'the file', 'while it is loaded'],
    ['shrinks.case.ts', 'fails, and is gone the second time', 'the first time'],
    ['stray.case.ts', 'outside of its tests', 'nothing waits for this'],
  ])
  expect(lines.at(-1)).toBe('4 passed, 6 failed, 1 skipped')
  expect(code).toBe(1)
})

it('in CI, one that always fails is not hidden behind one that does not', async () => {
  const { code, lines, report } = await run(['always', 'every-second'], { CI: 'true' })
  expect(report).toMatchObject({ failures: [{ test: 'always fails' }], failedOnce: [SECOND] })
  expect(lines.at(-1)).toBe('2 passed, 1 failed, 0 skipped')
  expect(code).toBe(1)
})

it('outside of CI a failure is a failure', async () => {
  const { code, lines, report } = await run(['good', 'every-second'], { CI: '' })
  expect(report).toMatchObject({ failures: [SECOND], failedOnce: [] })
  expect(lines.at(-1)).toBe('1 passed, 1 failed, 0 skipped')
  expect(code).toBe(1)
})

it('what never ends is ended at the deadline, and fails', async () => {
  const { code, lines } = await run(['good', 'hangs'], { CI: 'true', words: ['--minutes', '0.15'] })
  expect(lines).toContain('failed: hangs.case.ts: the file: it did not end in time')
  expect(lines.at(-1)).toMatch(/ [1-9] failed, 0 skipped$/)
  expect(code).toBe(1)
})

it('--times: what a file cost is told, by what it was spent on', async () => {
  const { code, lines, report } = await run(['starts'], { CI: '', words: ['--times'] })
  expect(report.costs).toMatchObject([{ name: 'starts.case.ts', tests: 1, processes: 2, servers: 1 }])
  const [{ testsMs = 0, childrenMs = 0, serversMs = 0 } = {}] = report.costs
  // Two processes that compute for 300 ms, as far as they get a processor, and a server that starts in 200.
  expect(childrenMs).toBeGreaterThan(100)
  expect(serversMs).toBeGreaterThan(190)
  expect(testsMs).toBeGreaterThan(700)
  const [head = ''] = lines.filter((line) => line.includes('children'))
  const row = lines.find((line) => line.endsWith(' starts.case.ts')) ?? ''
  const at = head.indexOf('servers') + 'servers'.length
  expect(row.slice(0, at)).toMatch(/ 1$/)
  expect(code).toBe(0)
})

it('a run without any test is no success', async () => {
  const { code } = await run(['no-such'], { CI: 'true' })
  expect(code).toBe(1)
})
