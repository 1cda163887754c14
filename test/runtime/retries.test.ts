import { describe, expect, it } from 'vitest'
import { DeadLetter, RetryIn, type HandleOptions, type ProduceOptions } from '../../src/index.ts'
import { makeWorld, record, gate } from './world.ts'

const START = Date.UTC(2030, 0, 1)

/** When each attempt started, in seconds after the first, for a handler that always fails. */
async function attempts(
  options: { handle?: HandleOptions; produce?: ProduceOptions; throws?: () => Error },
  duration: `${number}h`,
): Promise<{ at: number[]; state: string | undefined; reason: string | undefined }> {
  const { clock, queue: make } = makeWorld()
  const queue = make()
  const at: number[] = []
  queue.handle(
    't',
    ({ attempt }) => {
      at.push((clock.now() - START) / 1000)
      expect(attempt).toBe(at.length)
      throw options.throws?.() ?? new Error('boom')
    },
    options.handle,
  )
  await queue.start()
  const id = await queue.produce('t', null, options.produce)
  await clock.advance(duration)
  const found = await queue.get(id)
  return { at, state: found?.state, reason: found?.reason }
}

describe('retries', () => {
  it('by default after 1, 5 and 30 minutes, then dead', async () => {
    expect(await attempts({}, '2h')).toEqual({ at: [0, 60, 360, 2160], state: 'dead', reason: 'failed' })
  })

  it('the handler’s own list', async () => {
    const { at } = await attempts({ handle: { retry: { delays: ['1s', '2s'] } } }, '1h')
    expect(at).toEqual([0, 1, 3])
  })

  it('a limit beyond the list repeats its last wait', async () => {
    const { at } = await attempts({ handle: { retry: { limit: 4, delays: ['1s', '2s'] } } }, '1h')
    expect(at).toEqual([0, 1, 3, 5, 7])
  })

  it('growing waits up to a cap', async () => {
    const exponential = { base: '1s', factor: 3, cap: '10s', jitter: 0 } as const
    const { at } = await attempts({ handle: { retry: { limit: 4, exponential } } }, '1h')
    expect(at).toEqual([0, 1, 4, 13, 23])
  })

  it('the message’s own policy goes before its topic’s', async () => {
    const { at } = await attempts(
      { handle: { retry: { limit: 9 } }, produce: { retry: { delays: ['7s'] } } },
      '1h',
    )
    expect(at).toEqual([0, 7])
  })

  it('limit 0: no second chance', async () => {
    expect((await attempts({ produce: { retry: { limit: 0 } } }, '1h')).at).toEqual([0])
  })

  it('RetryIn chooses the wait', async () => {
    expect((await attempts({ throws: () => new RetryIn('90s') }, '1h')).at).toEqual([0, 90, 180, 270])
  })

  it('DeadLetter ends it at once', async () => {
    const { at, state, reason } = await attempts({ throws: () => new DeadLetter('no such order') }, '1h')
    expect({ at, state, reason }).toEqual({ at: [0], state: 'dead', reason: 'no such order' })
  })

  it('a failure, its retry and its end are told in order', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    const seen = record(queue)
    let fails = 2
    queue.handle(
      't',
      () => {
        fails -= 1
        if (fails >= 0) throw new Error('boom')
      },
      { retry: { delays: ['1s'], limit: 5 } },
    )
    await queue.start()
    await queue.produce('t', null)
    await clock.advance('5s')
    expect(seen.map(({ name }) => name)).toEqual(['failed', 'retrying', 'failed', 'retrying', 'completed'])
  })

  it('the error of the last failure can be looked at while the message waits', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    queue.handle('t', () => {
      throw new Error('the bank is closed')
    })
    await queue.start()
    const id = await queue.produce('t', null)
    await clock.settle()
    expect(await queue.get(id)).toMatchObject({ state: 'delayed', attempt: 1 })
    expect((await queue.get(id))?.error).toMatch('the bank is closed')
  })

  it('a revived message starts anew', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    let isBroken = true
    let ran = 0
    queue.handle('t', ({ attempt }) => {
      expect(attempt).toBe(1)
      if (isBroken) throw new DeadLetter('broken')
      ran += 1
    })
    await queue.start()
    const id = await queue.produce('t', null)
    await clock.settle()
    isBroken = false
    expect(await queue.revive([id, 'nobody'])).toBe(1)
    await clock.settle()
    expect(ran).toBe(1)
    expect(await queue.get(id)).toBeUndefined()
  })
})

describe('timeouts', () => {
  it('the signal aborts, and the attempt counts as failed', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    const reasons: string[] = []
    queue.handle(
      'slow',
      ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            reasons.push((signal.reason as Error).message)
            reject(signal.reason as Error)
          })
        }),
      { timeout: '5s', retry: { limit: 0 } },
    )
    await queue.start()
    const id = await queue.produce('slow', null)
    await clock.advance('4999ms')
    expect(reasons).toEqual([])
    await clock.advance(1)
    expect(reasons[0]).toMatch('did not end within its timeout of 5s')
    expect(await queue.get(id)).toMatchObject({ state: 'dead', reason: 'timeout' })
  })

  it('a handler that ignores its signal loses its slot after a grace, and what it returns later counts for nothing', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ concurrency: 1 })
    const seen = record(queue)
    const stuck = gate()
    let second = false
    queue.handle(
      't',
      async ({ payload }) => {
        if (payload === 'stuck') await stuck.opened
        else second = true
      },
      { timeout: '5s', retry: { delays: ['1h'] } },
    )
    await queue.start()
    const id = await queue.produce('t', 'stuck')
    await queue.produce('t', 'other')
    await clock.advance('5s')
    expect(second).toBe(false)
    await clock.advance('1s')
    expect(second).toBe(true)
    expect(await queue.get(id)).toMatchObject({ state: 'delayed', attempt: 1 })
    stuck.open()
    await clock.settle()
    expect(await queue.get(id)).toMatchObject({ state: 'delayed', attempt: 1 })
    expect(seen.map(({ name }) => name)).toEqual(['failed', 'retrying', 'late', 'completed'])
  })

  it('P6: cut-off work is not completed work: a handler that returns after its timeout has failed', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    const pages: number[] = []
    queue.handle(
      'export',
      async ({ attempt, signal }) => {
        for (let page = 0; page < 100 && !signal.aborted; page += 1) {
          await new Promise<void>((resolve) => clock.schedule(200, resolve))
          pages.push(attempt)
        }
      },
      { timeout: '1s', retry: { limit: 1, delays: ['1s'] } },
    )
    await queue.start()
    const id = await queue.produce('export', null)
    await clock.advance('1500ms')
    expect(await queue.get(id)).toMatchObject({ attempt: 1, error: 'the handler did not end within 1s' })
    await clock.advance('10s')
    expect(new Set(pages)).toEqual(new Set([1, 2]))
    expect(await queue.get(id)).toMatchObject({ state: 'dead', reason: 'timeout', attempt: 2 })
  })

  it.each([
    ['returns', () => Promise.resolve()],
    ['throws', () => Promise.reject(new Error('a last step failed'))],
    ['hangs', () => new Promise<void>(() => undefined)],
  ] as const)('a handler that said complete() and then %s has completed, timeout or not', async (_, end) => {
    const { clock, memory, queue: make } = makeWorld()
    const queue = make({ timeout: '1s' })
    const seen = record(queue)
    queue.handle('t', async ({ complete }) => {
      await new Promise<void>((resolve) => clock.schedule(500, resolve))
      complete()
      await new Promise<void>((resolve) => clock.schedule(700, resolve))
      return end()
    })
    await queue.start()
    await queue.produce('t', null)
    await clock.advance('1m')
    expect((await memory.count()).states).toEqual({ delayed: 0, ready: 0, running: 0, dead: 0 })
    expect(seen.map(({ name }) => name).filter((name) => name !== 'error')).toEqual(['completed'])
  })

  it('extend() begins the timeout anew', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    const done = gate()
    const extended: boolean[] = []
    queue.handle(
      't',
      async ({ extend, signal }) => {
        clock.schedule(4000, () => void extend().then((ok) => extended.push(ok)))
        clock.schedule(8000, () => void extend('10s').then((ok) => extended.push(ok)))
        await done.opened
        expect(signal.aborted).toBe(false)
      },
      { timeout: '5s' },
    )
    await queue.start()
    const id = await queue.produce('t', null)
    await clock.advance('17s')
    done.open()
    await clock.settle()
    expect(extended).toEqual([true, true])
    expect(await queue.get(id)).toBeUndefined()
  })

  it('the message’s own timeout goes before its topic’s', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    queue.handle('t', () => new Promise(() => {}), { timeout: '1h', retry: { limit: 0 } })
    await queue.start()
    const id = await queue.produce('t', null, { timeout: '1s' })
    await clock.advance('3s')
    expect(await queue.get(id)).toMatchObject({ state: 'dead', reason: 'timeout' })
  })
})

it('get: what the last error said, beside the whole of it', async () => {
  const { clock, queue: make } = makeWorld()
  const queue = make({ retry: { delays: ['1h'] } })
  queue.handle('t', () => {
    throw new Error('smtp is down')
  })
  await queue.start()
  await queue.produce('t', 1, { id: 'x' })
  await clock.advance('1s')
  const found = await queue.get('x')
  expect(found?.errorMessage).toBe('smtp is down')
  expect(found?.error).toMatch(/^Error: smtp is down\n\s+at /)
  const { items } = await queue.list({ state: 'delayed' })
  expect(items.map(({ errorMessage }) => errorMessage)).toEqual(['smtp is down'])
})
