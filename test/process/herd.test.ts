/**
 * Many real workers on one Redis: two of them watch, the others sleep. The fallback is so long that only the watch can
 * bring a message in time, unless a test is about the looks.
 */
import { describe, expect, it, onTestFinished } from 'vitest'
import { Punctual } from '../../src/index.ts'
import { RedisServer } from '../store/redis/server.ts'
import { until } from '../store/redis/until.ts'
import { Child } from './child.ts'

const QUEUE = 'herd'
const PATIENT = { fallback: '10m' }

async function startServer(): Promise<RedisServer> {
  const server = await RedisServer.start()
  onTestFinished(() => server.stop())
  return server
}

async function startWorkers(count: number, options: object): Promise<Child[]> {
  const workers = Array.from({ length: count }, () => new Child('work.mjs', { queue: QUEUE, ...options }))
  await Promise.all(workers.map((worker) => worker.said('ready')))
  return workers
}

function openQueue(store: string): Punctual {
  const queue = new Punctual({ store, queue: QUEUE, logger: false })
  onTestFinished(async () => void (await queue.stop()))
  return queue
}

function startersOf(workers: readonly Child[], id: string): Child[] {
  return workers.filter(({ lines }) => lines.some(({ start }) => start === id))
}

/** The worker that starts it. */
async function starterOf(workers: readonly Child[], id: string): Promise<Child> {
  await until(`${id} was started`, () => startersOf(workers, id).length > 0)
  const [starter] = startersOf(workers, id)
  if (starter === undefined) throw new Error('nobody')
  return starter
}

/** One of the two that watch: those who are woken for a message get it. */
async function findWatcher(workers: readonly Child[], queue: Punctual): Promise<Child> {
  for (let i = 0; i < 5; i += 1) await starterOf(workers, await queue.produce('t', i, { delay: 50 }))
  return starterOf(workers, await queue.produce('t', 'last', { delay: 50 }))
}

describe('the watch', () => {
  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'P9: after %s of a watcher another has the message that waits',
    async (signal) => {
      const { url: store } = await startServer()
      const workers = await startWorkers(4, { store, options: PATIENT })
      const queue = openQueue(store)
      const watcher = await findWatcher(workers, queue)
      const waiting = await queue.produce('t', 1, { delay: 1_000 })
      watcher.signal(signal)
      const others = workers.filter((worker) => worker !== watcher)
      await starterOf(others, waiting)
      // And those that come after it.
      for (let i = 0; i < 5; i += 1) await starterOf(others, await queue.produce('t', i, { delay: 20 }))
    },
  )

  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'P9: after %s of a watcher another has the next message',
    async (signal) => {
      const { url: store } = await startServer()
      const workers = await startWorkers(4, { store, options: PATIENT })
      const queue = openQueue(store)
      const watcher = await findWatcher(workers, queue)
      watcher.signal(signal)
      const others = workers.filter((worker) => worker !== watcher)
      await starterOf(others, await queue.produce('t', 1))
    },
  )

  it('P9: when all but one are killed at once, that one has the next message', async () => {
    const { url: store } = await startServer()
    const workers = await startWorkers(6, { store, options: PATIENT })
    const queue = openQueue(store)
    const watcher = await findWatcher(workers, queue)
    const [left, ...killed] = workers.toSorted((a, b) => Number(a === watcher) - Number(b === watcher))
    await Promise.all(killed.map((worker) => worker.kill('SIGKILL')))
    if (left === undefined) throw new Error('nobody is left')
    await starterOf([left], await queue.produce('t', 1))
    await starterOf([left], await queue.produce('t', 2, { delay: 100 }))
  })

  it('P9: watchers that stop hand the watch on', async () => {
    const { url: store } = await startServer()
    const workers = await startWorkers(4, { store, options: PATIENT })
    const queue = openQueue(store)
    await findWatcher(workers, queue)
    const waiting = await queue.produce('t', 1, { delay: 1_500 })
    const [left, ...stopped] = workers
    for (const worker of stopped) worker.signal('SIGTERM')
    if (left === undefined) throw new Error('nobody is left')
    await starterOf([left], waiting)
    for (const worker of stopped)
      expect((await worker.said('report'))['report']).toMatchObject({ errors: [] })
  })

  it('P12: a watcher that is busy hands the watch on: each worker has one of three long messages', async () => {
    const { url: store } = await startServer()
    const options = { ...PATIENT, concurrency: 1 }
    const workers = await startWorkers(3, { store, slowMs: 600_000, options })
    const queue = openQueue(store)
    const ids = [
      await queue.produce('t', 1),
      await queue.produce('t', 2, { delay: 200 }),
      await queue.produce('t', 3, { delay: 400 }),
    ]
    const starters = await Promise.all(ids.map((id) => starterOf(workers, id)))
    expect(new Set(starters).size).toBe(3)
  })

  it('P9: with every wake-up lost messages come by the looks', async () => {
    const server = await startServer()
    const rights = ['resetchannels', '~punctual:*', '+@all', '-@admin']
    await server.admin(['ACL', 'SETUSER', 'deaf', 'on', '>pw', ...rights])
    const store = `redis://deaf:pw@127.0.0.1:${server.port}`
    const workers = await startWorkers(6, { store, options: { fallback: '500ms' } })
    const queue = openQueue(store)
    for (let i = 0; i < 4; i += 1) await starterOf(workers, await queue.produce('t', i, { delay: 10 * i }))
  })
})
