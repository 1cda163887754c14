/** The caller's side of an engine on a thread: deadlines, a thread that dies, what is large, and the end of a process. */
import { Worker } from 'node:worker_threads'
import { afterEach, expect, test } from 'vitest'
import { UnavailableError } from '../../../src/core/errors.ts'
import { EngineThread, type CallRequest } from '../../../src/store/thread/proxy.ts'
import { enter, leave, newStanding, park } from '../../../src/store/thread/standing.ts'
import type { ThreadData } from '../../../src/store/thread/protocol.ts'

const MEBIBYTE = 1024 * 1024

/** A thread that does what its calls say: answers, is silent, counts what came in one message, or dies. */
const PROGRAM = `
const { parentPort } = require('node:worker_threads')
parentPort.postMessage({ replies: [], wakes: [] })
parentPort.on('message', (calls) => {
  const replies = []
  for (const { n, verb, args } of calls) {
    if (verb === 'end') parentPort.close()
    if (verb === 'die') process.exit(1)
    if (verb === 'throw') throw new Error('boom')
    if (verb === 'echo') replies.push([n, args[0]])
    if (verb === 'size') replies.push([n, calls.length])
    if (verb === 'refuse') replies.push([n, undefined, { kind: 'usage', code: 'ID_INVALID', message: 'no', value: 7 }])
  }
  parentPort.postMessage({ replies, wakes: [] })
})`

const explainDeath = (cause: Error): UnavailableError =>
  new UnavailableError('STORE_UNAVAILABLE', cause.message)

const threads: EngineThread<undefined>[] = []
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.end(1000)
})

const spawn = (workerData: ThreadData<undefined>): Worker => new Worker(PROGRAM, { eval: true, workerData })

function start(callMs = 30_000): EngineThread<undefined> {
  const thread = new EngineThread<undefined>({
    spawn,
    options: undefined,
    callMs,
    explainDeath,
    onWakes: () => {},
  })
  threads.push(thread)
  return thread
}

function call(verb: string, fields: Partial<CallRequest> = {}): CallRequest {
  return { queue: 'q', verb, args: [], entries: 1, bytes: 0, now: undefined, ...fields }
}

test('calls of one turn travel in one message, and each has its own answer', async () => {
  const thread = start()
  const answers = [1, 2, 3].map((n) => thread.call(threads, call('echo', { args: [n] })))
  expect(await Promise.all(answers)).toEqual([1, 2, 3])
  expect(await Promise.all([1, 2, 3].map(() => thread.call(threads, call('size'))))).toEqual([3, 3, 3])
})

test('an error keeps its class, code and value', async () => {
  await expect(start().call(threads, call('refuse'))).rejects.toMatchObject({
    name: 'UsageError',
    code: 'ID_INVALID',
    message: 'no',
    value: 7,
  })
})

test('P11: a silent thread: the call rejects at its deadline, later ones are answered', async () => {
  const thread = start(200)
  await thread.call(threads, call('echo'))
  const silent = thread.call(threads, call('nothing'))
  await expect(silent).rejects.toMatchObject({ name: 'UnavailableError', code: 'STORE_UNAVAILABLE' })
  expect(await thread.call(threads, call('echo', { args: ['again'] }))).toBe('again')
})

test.each(['die', 'throw'])(
  'a thread that ends by itself (%s): its calls reject, the next one has a new thread',
  async (how) => {
    const thread = start()
    const others = expect(thread.call(threads, call('nothing'))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })
    await expect(thread.call(threads, call(how))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await others
    expect(await thread.call(threads, call('echo', { args: ['new'] }))).toBe('new')
  },
)

test('P10: what is large waits here until the thread has answered what it has', async () => {
  const thread = start()
  const sizes = Array.from({ length: 10 }, () =>
    thread.call<number>(threads, call('size', { bytes: 20 * MEBIBYTE })),
  )
  expect(await Promise.all(sizes)).toEqual(Array.from({ length: 10 }, () => 1))
  const small = Array.from({ length: 3 }, () => thread.call<number>(threads, call('size', { bytes: 1000 })))
  expect(await Promise.all(small)).toEqual([3, 3, 3])
})

test('a holder that gives up rejects its own calls only', async () => {
  const thread = start()
  const [mine, other] = [{}, {}]
  const given = expect(thread.call(mine, call('nothing'))).rejects.toThrow('given up')
  const kept = thread.call(other, call('echo', { args: ['kept'] }))
  thread.giveUp(mine, new UnavailableError('STORE_CLOSED', 'given up'))
  await given
  expect(await kept).toBe('kept')
  await thread.idle(mine)
})

test('a thread that stands between two calls is parked at once, and works no more', () => {
  const word = newStanding()
  enter(word)
  expect(park(word, 20)).toBe(false)
  leave(word)
  expect(park(word, 20)).toBe(true)
  expect(park(word, 20)).toBe(true)
})
