/** A share of the benchmark, so that it cannot rot: every message accounted for, no timing asserted. */
import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')

it('the benchmark runs, and each message is handled exactly once and never early', async () => {
  const contestants = ['punctual-redis', 'punctual-file', 'punctual-memory', 'raw-redis', 'timer-floor']
  const words = [
    '--small',
    '--repeat',
    '1',
    '--workloads',
    'W1a,W3,W4',
    '--contestants',
    contestants.join(','),
  ]
  const { stdout } = await promisify(execFile)(process.execPath, [join(ROOT, 'bench', 'run.mjs'), ...words])
  for (const contestant of contestants) expect(stdout).toContain(`| ${contestant} |`)
}, 180_000)
