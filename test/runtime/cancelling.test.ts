/** Cancelling a message that runs: its handler is told wherever it is, and it is not tried again. */
import { expect, it } from 'vitest'
import { claim } from '../../src/testing/conformance/stand.ts'
import { SHARED, gate, makeWorld, record } from './world.ts'

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error))
  })
}

it('the signal aborts at once, the message is gone, and the event says so', async () => {
  const { clock, memory, queue: make } = makeWorld()
  const [worker, other] = [make(), make()]
  const seen = record(worker)
  const cancelled: unknown[] = []
  worker.on('cancelled', (event) => cancelled.push(event))
  const reasons: string[] = []
  worker.handle('t', async ({ signal }) => {
    await untilAborted(signal).catch((error: Error) => {
      reasons.push(error.message)
      throw error
    })
  })
  await worker.start()
  await other.produce('t', 1, { id: 'x' })
  await clock.settle()
  expect(await other.cancel('x')).toBe('running')
  expect(await other.cancel('x', { running: true })).toBe('cancelling')
  await clock.settle()
  expect(reasons).toEqual(['t x: it was cancelled'])
  await clock.advance('1s')
  expect(cancelled).toEqual([{ id: 'x', topic: 't', attempt: 1 }])
  expect(seen).toEqual([])
  expect((await memory.count()).states).toEqual({ delayed: 0, ready: 0, running: 0, dead: 0 })
  expect(await other.cancel('x', { running: true })).toBe('missing')
})

it('P9: with every wake-up lost, it is heard with the next extension of the lease', async () => {
  const { clock, store, queue: make } = makeWorld(SHARED)
  store.fate = () => undefined
  store.isDeaf = true
  const [worker, other] = [make({ lease: '9s' }), make()]
  let abortedAt = 0
  worker.handle('t', async ({ signal }) => {
    await untilAborted(signal).finally(() => (abortedAt = clock.now()))
  })
  await worker.start()
  await other.produce('t', 1, { id: 'x' })
  await clock.advance('6s')
  const askedAt = clock.now()
  await other.cancel('x', { running: true })
  await clock.advance('10s')
  expect(abortedAt).toBeGreaterThan(askedAt)
  expect(abortedAt - askedAt).toBeLessThanOrEqual(3_000)
  expect(await other.get('x')).toBeUndefined()
})

it('a handler that returns all the same is not completed; one that says complete() is', async () => {
  const { clock, queue: make } = makeWorld()
  const queue = make()
  const seen = record(queue)
  const cancelled: string[] = []
  queue.on('cancelled', ({ id }) => cancelled.push(id))
  const { opened, open } = gate()
  queue.handle('t', async ({ id, complete }) => {
    if (id === 'said') complete()
    await opened
    return 'a result'
  })
  await queue.start()
  for (const id of ['said', 'returned']) await queue.produce('t', 1, { id, remember: '1h' })
  await clock.settle()
  for (const id of ['said', 'returned']) expect(await queue.cancel(id, { running: true })).toBe('cancelling')
  expect((await queue.get('returned'))?.isCancelling).toBe(true)
  open()
  await clock.advance('1s')
  expect(cancelled).toEqual(['returned'])
  expect(seen.map(({ name, event }) => [name, 'id' in event ? event.id : ''])).toEqual([
    ['completed', 'said'],
  ])
  expect(await queue.get('said')).toMatchObject({ state: 'completed', result: 'a result' })
  expect(await queue.get('returned')).toBeUndefined()
})

it('a handler that ignores its signal keeps its slot for a second, and its message is gone', async () => {
  const { clock, memory, queue: make } = makeWorld()
  const queue = make({ concurrency: 1 })
  const ran: string[] = []
  queue.handle('t', ({ id }) => {
    ran.push(id)
    return id === 'deaf' ? new Promise(() => undefined) : undefined
  })
  await queue.start()
  await queue.produce('t', 1, { id: 'deaf' })
  await clock.settle()
  await queue.produce('t', 1, { id: 'next' })
  await queue.cancel('deaf', { running: true })
  await clock.advance('2s')
  expect(ran).toEqual(['deaf', 'next'])
  expect((await memory.count()).states.running).toBe(0)
})

it('what its worker holds and has not started goes back, and is gone', async () => {
  const { clock, memory, queue: make } = makeWorld()
  const queue = make({ concurrency: 1 })
  const { opened, open } = gate()
  const ran: string[] = []
  queue.handle('t', async ({ id }) => {
    ran.push(id)
    await opened
  })
  await queue.start()
  await queue.produceMany(['a', 'b'].map((id) => ({ topic: 't', payload: 1, id })))
  await clock.advance(100)
  for (const id of ['a', 'b']) await queue.cancel(id, { running: true })
  open()
  await clock.advance('10s')
  expect(ran).toEqual(['a'])
  expect((await memory.count()).states).toEqual({ delayed: 0, ready: 0, running: 0, dead: 0 })
})

it('P6: when its worker has died, whoever takes over finds it cancelled', async () => {
  const { clock, memory, queue: make } = makeWorld()
  const queue = make()
  const told: string[] = []
  queue.on('cancelled', ({ id }) => told.push(`cancelled ${id}`))
  queue.handle('t', ({ id }) => told.push(`ran ${id}`))
  await queue.produce('t', 1, { id: 'x' })
  await claim(memory, { topics: ['t'], leaseMs: 5_000, owner: 'dies' })
  expect(await queue.cancel('x', { running: true })).toBe('cancelling')
  await queue.start()
  await clock.advance('1m')
  expect(told).toEqual(['cancelled x'])
  expect(await queue.get('x')).toBeUndefined()
})
