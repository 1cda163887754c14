/** The example workers in Python and bash, killed at random, under an auditor: nothing lost, nothing early. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished } from 'vitest'
import { SeededRandom } from '../../../src/testing/index.ts'
import { makeStand, QUEUE } from './stand.ts'

const FOLDER = resolve(import.meta.dirname, '../../../examples/workers-elsewhere')
const has = (program: string): boolean => spawnSync(program, ['--version']).error === undefined

type Said = { readonly begun?: string; readonly done?: string; readonly dueAt?: number; readonly at?: number }

it.skipIf(!has('python3') || !has('curl'))(
  'P1, P2, P8: workers in Python and bash, killed with -9 at random, lose nothing and start nothing early',
  async () => {
    const stand = await makeStand({}, { store: 'memory:', retry: { limit: 100, delays: ['50ms'] } })
    const random = new SeededRandom(7)
    const said: Said[] = []
    const workers: ChildProcess[] = []
    let isOver = false
    const start = (i: number): void => {
      const [command, file] =
        i % 3 === 2 ? (['bash', 'worker.sh'] as const) : (['python3', 'worker.py'] as const)
      // A group of its own, so that curl and sleep die with their shell.
      const worker = spawn(command, [join(FOLDER, file), 'mail.send'], {
        env: { ...process.env, PUNCTUAL_URL: stand.base + QUEUE, WORKER_LEASE: '1s' },
        stdio: ['ignore', 'pipe', 'ignore'],
        detached: true,
      })
      createInterface({ input: worker.stdout }).on('line', (line) => said.push(JSON.parse(line) as Said))
      worker.once('exit', () => {
        if (!isOver) start(i)
      })
      workers[i] = worker
    }
    const kill = (i: number): void => {
      const pid = workers[i]?.pid
      try {
        if (pid !== undefined) process.kill(-pid, 'SIGKILL')
      } catch {
        // It has ended by itself.
      }
    }
    onTestFinished(() => {
      isOver = true
      for (const i of workers.keys()) kill(i)
    })
    for (const i of [0, 1, 2]) start(i)
    const count = 60
    await stand.queue.produceMany(
      Array.from({ length: count }, (_, i) => ({
        topic: 'mail.send',
        payload: { seconds: 0.05 },
        id: `mail-${i}`,
        delay: Math.floor(random.next() * 4_000),
      })),
    )
    const done = (): Set<string> => new Set(said.flatMap((one) => one.done ?? []))
    let kills = 0
    while (done().size < count) {
      await new Promise((resume) => setTimeout(resume, 150 + random.next() * 400))
      if (kills >= 12) continue
      kill(Math.floor(random.next() * 3))
      kills += 1
    }
    await expect
      .poll(async () => (await stand.queue.stats()).counts, { timeout: 30_000 })
      .toEqual({
        delayed: 0,
        ready: 0,
        running: 0,
        dead: 0,
      })
    const early = said.filter(({ at = 0, dueAt = 0 }) => at < dueAt)
    expect({ done: done().size, early, kills: kills > 3 }).toEqual({ done: count, early: [], kills: true })
  },
)
