/** Debounce that loses no update: what replaces a running message runs after it, whatever becomes of that. */
import { expect, it } from 'vitest'
import { RetryIn } from '../../src/index.ts'
import { gate, makeWorld, record } from './world.ts'

it.each([
  ['returns', () => undefined, ['completed', 'completed']],
  [
    'throws',
    () => {
      throw new Error('no')
    },
    ['failed', 'completed'],
  ],
  [
    'asks to be tried again soon',
    () => {
      throw new RetryIn('1s')
    },
    ['failed', 'completed'],
  ],
])('P5: when the running one %s, its successor runs, and only that', async (_how, end, told) => {
  const { clock, memory, queue: make } = makeWorld()
  const queue = make({ retry: { delays: ['1s'] } })
  const { opened, open } = gate()
  const ran: unknown[] = []
  const seen = record(queue)
  queue.handle('index', async ({ payload, attempt }) => {
    ran.push([payload, attempt])
    if (payload !== 'old') return
    await opened
    end()
  })
  await queue.start()
  await queue.produce('index', 'old', { id: 'doc-7' })
  await clock.settle()
  expect(await queue.produce('index', 'newer', { id: 'doc-7', ifExists: 'replace', delay: '1m' })).toBe(
    'doc-7',
  )
  await queue.produce('index', 'newest', { id: 'doc-7', ifExists: 'replace', delay: '1m', tag: 't' })
  expect(await queue.get('doc-7')).toMatchObject({
    state: 'running',
    payload: 'old',
    successor: { payload: 'newest', tags: ['t'], topic: 'index', priority: 'normal' },
  })
  open()
  await clock.advance('1h')
  expect(ran).toEqual([
    ['old', 1],
    ['newest', 1],
  ])
  expect(seen.map(({ name }) => name)).toEqual(told)
  expect((await memory.count()).states).toEqual({ delayed: 0, ready: 0, running: 0, dead: 0 })
})

it('P5: cancel and reschedule of a running message act on its successor', async () => {
  const { clock, queue: make } = makeWorld()
  const queue = make()
  const { opened, open } = gate()
  const ran: unknown[] = []
  queue.handle('t', async ({ payload }) => {
    ran.push(payload)
    if (payload === 1) await opened
  })
  await queue.start()
  await queue.produce('t', 1, { id: 'x' })
  await clock.settle()
  await queue.produce('t', 2, { id: 'x', ifExists: 'replace', delay: '1m' })
  expect(await queue.reschedule('x', { delay: '2h' })).toBe('rescheduled')
  expect(await queue.cancel('x')).toBe('running')
  expect((await queue.get('x'))?.successor).toBeUndefined()
  await queue.produce('t', 3, { id: 'x', ifExists: 'replace', tag: 'mine' })
  expect(await queue.cancel({ tag: 'mine' })).toEqual({ cancelled: 0, running: 1 })
  open()
  await clock.advance('3h')
  expect(ran).toEqual([1])
})

it('P5: latest bounds how long replacing can postpone', async () => {
  const { clock, queue: make } = makeWorld()
  const queue = make()
  const ran: unknown[] = []
  queue.handle('t', ({ payload }) => ran.push(payload))
  await queue.start()
  for (let i = 1; i <= 9; i += 1) {
    await queue.produce('t', i, { id: 'x', ifExists: 'replace', delay: '10m', latest: '30m' })
    await clock.advance('5m')
  }
  // Said after 0, 5, 10, … minutes: it runs after 30, with what was said last, and then begins anew.
  expect(ran).toEqual([6])
  await clock.advance('10m')
  expect(ran).toEqual([6, 9])
  await expect(queue.produce('t', 1, { id: 'x', latest: '1h' })).rejects.toMatchObject({
    code: 'OPTION_INVALID',
  })
})
