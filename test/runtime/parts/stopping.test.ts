import { describe, expect, it } from 'vitest'
import type { Consumers } from '../../../src/runtime/consumers.ts'
import { stopInOrder, type StopReport, type Stoppable } from '../../../src/runtime/stopping.ts'
import { VirtualClock } from '../../../src/testing/index.ts'

const NEVER = (): Promise<never> => new Promise(() => undefined)

/** Handlers that end so many ms after the stop began, or so many after their signals aborted; and when it is to hurry. */
type Handlers = {
  readonly endAfterMs?: number
  readonly abortedAfterMs?: number
  readonly hurryAfterMs?: number
}

function makeStop(
  steps: Partial<Stoppable> = {},
  { endAfterMs = 0, abortedAfterMs = Infinity, hurryAfterMs = Infinity }: Handlers = {},
) {
  const clock = new VirtualClock()
  const heard: string[] = []
  let begunAt = 0
  const note = (what: string): void => void heard.push(`${what} at ${clock.monotonic() - begunAt}`)
  const idle: (() => void)[] = []
  const counts = { ended: 7, returned: 5, running: endAfterMs === 0 ? 0 : 2 }
  const end = (): void => {
    if (counts.running === 0) return
    counts.ended += counts.running
    counts.running = 0
    for (const resolve of idle) resolve()
  }
  const consumers = {
    get counts() {
      return { ...counts }
    },
    get running() {
      return counts.running
    },
    close: () => {
      note('give back')
      counts.returned += 3
    },
    whenIdle: () =>
      counts.running === 0 ? Promise.resolve() : new Promise<void>((resolve) => idle.push(resolve)),
    abortAll: () => {
      note('abort')
      if (abortedAfterMs < Infinity) clock.schedule(abortedAfterMs, end)
    },
    abandonAll: () => {
      note('abandon')
      return counts.running
    },
  } as unknown as Consumers
  const noted = (what: string) => async (): Promise<void> => note(what)
  const parts: Stoppable = {
    clock,
    consumers,
    quiet: noted('quiet'),
    settle: noted('settle'),
    endSettling: () => note('end settling'),
    close: noted('close'),
    ...steps,
  }
  const hurry = new AbortController()
  if (hurryAfterMs === 0) hurry.abort()
  const stop = async (timeoutMs: number): Promise<StopReport> => {
    await clock.advance('1h') // It did not begin with the clock.
    begunAt = clock.monotonic()
    if (endAfterMs < Infinity) clock.schedule(endAfterMs, end)
    if (hurryAfterMs < Infinity) clock.schedule(hurryAfterMs, () => hurry.abort())
    const stopping = stopInOrder(parts, timeoutMs, hurry.signal)
    await clock.advance('1h')
    return stopping
  }
  return { clock, heard, stop }
}

describe('P11: a stop', () => {
  it('takes its steps in order, and waits for handlers', async () => {
    const { clock, heard, stop } = makeStop({}, { endAfterMs: 4_000 })
    const report = await stop(30_000)
    expect(heard).toEqual([
      'quiet at 0',
      'give back at 0',
      'abandon at 4000',
      'settle at 4000',
      'end settling at 4000',
      'close at 4000',
    ])
    expect(report).toEqual({ finished: 2, released: 3, abandoned: 0, errors: [], durationMs: 4_000 })
    expect(clock.pendingTimers).toBe(0)
  })

  it('after the timeout handlers are told to end, and those that do within a second are finished', async () => {
    const { heard, stop } = makeStop({}, { endAfterMs: Infinity, abortedAfterMs: 999 })
    expect(await stop(30_000)).toMatchObject({ finished: 2, abandoned: 0, errors: [], durationMs: 30_999 })
    expect(heard.slice(2, 5)).toEqual(['abort at 30000', 'abandon at 30999', 'settle at 30999'])
  })

  it('handlers that do not are left behind', async () => {
    const { heard, stop } = makeStop({}, { endAfterMs: Infinity, abortedAfterMs: 1_001 })
    expect(await stop(30_000)).toEqual({
      finished: 0,
      released: 3,
      abandoned: 2,
      errors: [],
      durationMs: 31_000,
    })
    expect(heard.slice(2, 4)).toEqual(['abort at 30000', 'abandon at 31000'])
  })

  it('ends at most 5 s after its timeout, whatever hangs; the report names what did', async () => {
    const hanging = { quiet: NEVER, settle: NEVER, close: NEVER }
    const { heard, stop } = makeStop(hanging, { endAfterMs: Infinity })
    expect(await stop(30_000)).toEqual({
      finished: 0,
      released: 3,
      abandoned: 2,
      errors: ['quiet: not done within 5s', 'settle: not done within 2s', 'close: not done within 2s'],
      durationMs: 35_000,
    })
    // The time that one step took is not given to the next.
    expect(heard).toEqual([
      'give back at 5000',
      'abort at 30000',
      'abandon at 31000',
      'end settling at 33000',
    ])
  })

  it('with little time the first step has no more than that', async () => {
    const { heard, stop } = makeStop({ quiet: NEVER }, { endAfterMs: Infinity })
    expect(await stop(2_000)).toMatchObject({ errors: ['quiet: not done within 2s'], durationMs: 3_000 })
    expect(heard.slice(0, 2)).toEqual(['give back at 2000', 'abort at 2000'])
  })

  it('a step that fails keeps none of the others from being taken', async () => {
    const { heard, stop } = makeStop({
      quiet: () => Promise.reject(new Error('no answer')),
      settle: () => Promise.reject(new RangeError('too much')),
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- A store may reject with anything.
      close: () => Promise.reject('gone'),
    })
    expect((await stop(30_000)).errors).toEqual(['quiet: no answer', 'settle: too much', 'close: gone'])
    expect(heard).toEqual(['give back at 0', 'abandon at 0', 'end settling at 0'])
  })

  it('in a hurry it does not wait for handlers, whether that was said before or meanwhile', async () => {
    for (const afterMs of [0, 500]) {
      const { heard, stop } = makeStop({}, { endAfterMs: Infinity, hurryAfterMs: afterMs })
      await stop(30_000)
      expect(heard[2]).toBe(`abort at ${afterMs}`)
    }
  })

  it('of a queue that never started there is nothing to give back', async () => {
    const { heard, stop } = makeStop({ consumers: undefined })
    expect(await stop(30_000)).toEqual({ finished: 0, released: 0, abandoned: 0, errors: [], durationMs: 0 })
    expect(heard).toEqual(['quiet at 0', 'settle at 0', 'end settling at 0', 'close at 0'])
  })
})
