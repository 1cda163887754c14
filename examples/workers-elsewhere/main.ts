// Workers in other languages: a server, a worker in Python and one in bash share twelve messages.
//   npm run example workers-elsewhere
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { Punctual } from 'punctual'
import { serve } from 'punctual/server'

const COUNT = 12

function startWorker(command: string, file: string, url: string): ChildProcess {
  return spawn(command, [join(import.meta.dirname, file), 'mail.send'], {
    env: { ...process.env, PUNCTUAL_URL: url },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
}

async function main(): Promise<void> {
  const queue = new Punctual({ store: 'memory:' })
  const server = serve({ queues: [queue] })
  const { port } = await server.listen({ port: 0 })
  const url = `http://127.0.0.1:${port}/v1/queues/default`
  const workers = [startWorker('python3', 'worker.py', url), startWorker('bash', 'worker.sh', url)]

  for (let i = 0; i < COUNT; i += 1)
    await queue.produce('mail.send', { seconds: 0.05 }, { id: `mail-${i}`, delay: `${100 * i}ms` })

  const done = new Map<string, string>()
  await new Promise<void>((resolve) => {
    for (const { stdout } of workers) {
      if (stdout === null) continue
      createInterface({ input: stdout }).on('line', (line) => {
        const said = JSON.parse(line) as { done?: string; by?: string }
        if (said.done !== undefined) done.set(said.done, (said.by ?? '').split('-')[0] ?? '')
        if (done.size === COUNT) resolve()
      })
    }
  })
  console.log(`${done.size} of ${COUNT} done, by ${[...new Set(done.values())].toSorted().join(' and ')}`)
  // Each says how its last message ended before the server goes.
  while ((await queue.stats()).counts.running > 0) await setTimeout(50)
  // The whole group of each: a version manager's shim, or curl, may stand between.
  for (const { pid } of workers) if (pid !== undefined) process.kill(-pid, 'SIGTERM')
  await server.close()
  await queue.stop()
}

if (['python3', 'curl'].some((program) => spawnSync(program, ['--version']).error !== undefined))
  console.log('skipped: this needs python3 and curl')
else await main()
