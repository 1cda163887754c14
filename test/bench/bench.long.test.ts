/** A share of the benchmark, so that it cannot rot: every message accounted for, no timing asserted. */
import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')

async function run(program: string, words: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [join(ROOT, 'bench', program), ...words])
  return stdout
}

it('the benchmark runs, and each message is handled exactly once and never early', async () => {
  const contestants = [
    'punctual-redis',
    'punctual-file',
    'punctual-memory',
    'raw-redis',
    'raw-redis-lease',
    'timer-floor',
  ]
  const words = [
    '--small',
    '--repeat',
    '1',
    '--workloads',
    'W1a,W3,W4',
    '--contestants',
    contestants.join(','),
  ]
  const stdout = await run('run.mjs', words)
  for (const contestant of contestants) expect(stdout).toContain(`| ${contestant} |`)
}, 180_000)

it('how cost grows is measured the same way', async () => {
  const stdout = await run('growth.mjs', ['--small', '--axes', 'topics', '--contestants', 'punctual-redis'])
  for (const step of [1, 10]) expect(stdout).toContain(`| punctual-redis, ${step} |`)
}, 180_000)
