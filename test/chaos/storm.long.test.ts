/** The share of the chaos suite that runs with every change: a short storm on each engine, always with the same plan. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isMariaDbThere } from '../store/mysql/server.ts'

const COMMAND = join(import.meta.dirname, '../../scripts/chaos.mjs')
const STORM_MINUTES = 0.25
const CAP_MS = 400_000

const SEED = 4711

type Ended = { readonly code: number | null; readonly out: string; readonly errors: string }

async function chaos(...args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [COMMAND, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGTERM'))
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { code: child.exitCode, out, errors }
}

describe('a storm', () => {
  it.each(['redis', 'postgres', ...(isMariaDbThere ? ['mysql'] : []), 'file'])(
    `P1, P2, P3, P4, P6, P8, P11: %s, seed ${SEED}: nothing lost, early, late or repeated without a reason`,
    async (engine) => {
      const options = ['--minutes', String(STORM_MINUTES), '--seed', String(SEED), '--rate', '100']
      const { code, out, errors } = await chaos('--engine', engine, '--json', ...options)
      expect(code, errors).toBe(0)
      const summary: unknown = JSON.parse(out.trimEnd().split('\n').at(-1) ?? '')
      expect(summary).toMatchObject({ engine, seed: SEED, findings: 0, calm: { messages: 200 } })
      // A run in which nothing happened proves nothing.
      const { fates, faults } = summary as Record<'fates' | 'faults', Record<string, number>>
      expect(fates['completed']).toBeGreaterThan(400)
      expect(Object.keys(faults).length).toBeGreaterThan(2)
    },
    CAP_MS,
  )
})

describe('the command', () => {
  it.each([
    [[], /--engine is missing; give redis, cluster, postgres, mysql, file/],
    [['--engine', 'mongo'], /--engine is "mongo"/],
    [['--engine', 'file', '--minutes', '0'], /--minutes is "0"/],
    [['--engine', 'file', '--seed', 'x'], /--seed is "x"/],
    [['--engine', 'file', '--rate', '-3'], /rate/],
    [['--storm'], /--storm/],
  ])('%j: a clear message and exit code 2', async (args, message) => {
    const { code, errors } = await chaos(...args)
    expect(code).toBe(2)
    expect(errors).toMatch(message)
  })

  it('--help helps', async () => {
    const { code, out } = await chaos('--help')
    expect(code).toBe(0)
    expect(out).toContain('--engine redis|cluster|postgres|mysql|file')
  })

  it('a signal ends everything it started, and leaves nothing', async () => {
    const scratch = await mkdtemp(join(tmpdir(), 'punctual-storm-'))
    onTestFinished(() => rm(scratch, { recursive: true, force: true }))
    const child = spawn(process.execPath, [COMMAND, '--engine', 'file', '--minutes', '5'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, TMPDIR: scratch },
    })
    onTestFinished(() => void child.kill('SIGTERM'))
    const errors = text(child.stderr)
    await once(child.stdout, 'data')
    child.kill('SIGTERM')
    await once(child, 'exit')
    expect(child.exitCode).toBe(130)
    expect(await errors).toContain('interrupted')
    const left = (await readdir(scratch)).filter((name) => name.startsWith('punctual-'))
    expect(left).toEqual([])
  })
})
