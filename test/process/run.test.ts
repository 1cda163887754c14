/** `run()` in a real process, with real signals. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'

function startWorker(payload: string): {
  seen: string[]
  line: (start: string) => Promise<string>
  kill: (signal: NodeJS.Signals) => void
  exit: Promise<number | null>
} {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'worker.mjs'), payload], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const seen: string[] = []
  const waiting = new Set<() => void>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    seen.push(line)
    for (const look of waiting) look()
  })
  return {
    seen,
    line: (start) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = seen.find((line) => line.startsWith(start))
          if (found !== undefined) resolve(found)
        }
        waiting.add(look)
        look()
      }),
    kill: (signal) => void child.kill(signal),
    exit: once(child, 'exit').then(([code]) => code as number | null),
  }
}

describe('run()', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    'P11: %s lets the running handler end, then the process ends by itself',
    async (signal) => {
      const worker = startWorker('patient')
      await worker.line('started')
      worker.kill(signal)
      expect(await worker.exit).toBe(0)
      expect(worker.seen.slice(0, 2)).toEqual(['started patient', 'ended patient false'])
      expect(JSON.parse((await worker.line('report')).slice(7))).toMatchObject({
        finished: 1,
        abandoned: 0,
        errors: [],
      })
    },
  )

  it('P11: a second signal aborts the handler instead of waiting for it', async () => {
    const worker = startWorker('stubborn')
    await worker.line('started')
    worker.kill('SIGTERM')
    worker.kill('SIGINT')
    expect(await worker.exit).toBe(0)
    expect(worker.seen).toContain('ended stubborn true')
  })
})
