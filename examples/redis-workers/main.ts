/**
 * Three workers on one Redis. One is killed with SIGKILL in the middle of its work: the others take over what it had
 * in its hands, and no message is lost.
 *
 *   npm run example redis-workers
 *   npm run example redis-workers cluster      the same over the three masters of a cluster
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { Punctual } from 'punctual'
import { startCluster, startRedis } from './redis-server.ts'

const MESSAGES = 200
const redis = await (process.argv[2] === 'cluster' ? startCluster() : startRedis())
if (redis === undefined) {
  console.log('skipped: redis-server is not installed')
  process.exit(0)
}
const { url } = redis

const queue = new Punctual<{ job: { number: number } }>({ store: url, queue: 'example' })
const numbers = Array.from({ length: MESSAGES }, (_, number) => number)
await queue.produceMany(
  numbers.map((number) => ({ topic: 'job', payload: { number }, delay: 1_000 + number * 10 })),
)

type Told = { readonly started: number; readonly attempt: number }
const started = new Set<number>()
let again = 0
let crashed: ChildProcess | undefined

const workers = ['one', 'two', 'three'].map((name) => startWorker(name))
// The store knows when all is done: the last words of a killed worker may never have reached us.
while (await isUnfinished()) await pause(100)

console.log(`${started.size} of ${MESSAGES} done, ${again} of them started again after the crash, none left`)
await Promise.all(workers.filter((worker) => worker !== crashed).map(endWorker))
await queue.stop()
await redis.stop()

function startWorker(name: string): ChildProcess {
  const worker = fork(new URL('worker.ts', import.meta.url), [url])
  worker.on('message', ({ started: number, attempt }: Told) => {
    started.add(number)
    if (attempt > 1) again += 1
    if (crashed !== undefined || started.size < MESSAGES / 2) return
    crashed = worker
    worker.kill('SIGKILL')
    console.log(`worker ${name} killed with SIGKILL as it had begun with job ${number}`)
  })
  return worker
}

async function isUnfinished(): Promise<boolean> {
  const { delayed, ready, running } = (await queue.stats()).counts
  return delayed + ready + running > 0
}

async function endWorker(worker: ChildProcess): Promise<void> {
  const exited = once(worker, 'exit')
  worker.kill('SIGTERM')
  await exited
}
