/**
 * Handlers that do real work while the clock stands still: a file, a socket, a timer of Node. A virtual clock lets them
 * end before it goes on, because a timeout that passes in no time would cut off every one of them.
 *
 * Which handler waits for something real, and which for the clock or for the test? One that waits for something real has
 * begun it, and Node tells of every file, timer, connection or process that is begun in its asynchronous context. What is
 * sent on a connection that was open before shows in the bytes that sockets have counted. A handler without either, such
 * as one that waits for its signal, is not waited for. One that has begun something real and then waits for the clock
 * looks the same as one whose answer is slow: it is given up after a while without any sign.
 *
 * Cost: while a handler runs, every promise costs a call. Cannot be seen: what a thread is asked that was there before.
 */
import { AsyncLocalStorage, createHook } from 'node:async_hooks'
import { Socket } from 'node:net'
import { systemClock } from '../clock.ts'

/** One call of a handler. */
type WatchedCall = { signs: number; givenUpAt: number }

/** These end by themselves within a few turns of the event loop. */
const PASSING = new Set(['PROMISE', 'TickObject', 'Microtask', 'Immediate'])
/** How long to sleep between two looks. */
const LOOK_MS = 2

const context = new AsyncLocalStorage<WatchedCall>()
const hook = createHook({
  init(_id, type) {
    if (PASSING.has(type)) return
    const call = context.getStore()
    if (call !== undefined) call.signs += 1
  },
})
/** Of all clocks: there is one hook. */
let watching = 0

export class RealWork {
  readonly #withinMs: number
  readonly #calls = new Set<WatchedCall>()
  #isWatching = false
  /** What sockets had carried when the first of the calls began, or when those under way were given up. */
  #trafficBefore = 0
  #ended = 0

  /** Zero: nothing is waited for. */
  constructor(withinMs: number) {
    this.#withinMs = withinMs
  }

  watch<Arguments extends unknown[], Result>(
    work: (...given: Arguments) => Result,
  ): (...given: Arguments) => Result {
    if (this.#withinMs === 0) return work
    return (...given) => {
      const call = this.#begin()
      let result: Result | undefined
      try {
        result = context.run(call, work, ...given)
        return result
      } finally {
        if (isThenable(result)) result.then(this.#endOf(call), this.#endOf(call))
        else this.#calls.delete(call)
      }
    }
  }

  /** Waits until no handler does real work, or until there was no sign of it for too long. Between two looks `rest` is called. */
  async finish(rest: () => Promise<void>): Promise<void> {
    let signs = this.#signs()
    let quietSince = systemClock.monotonic()
    while (this.#isUnderWay()) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
      await rest()
      const now = systemClock.monotonic()
      if (signs !== this.#signs()) {
        signs = this.#signs()
        quietSince = now
      } else if (now - quietSince >= this.#withinMs) this.#giveUp()
    }
    if (this.#calls.size === 0) this.#unwatch()
  }

  #begin(): WatchedCall {
    if (this.#calls.size === 0) {
      this.#watch()
      this.#trafficBefore = traffic()
    }
    const call = { signs: 0, givenUpAt: 0 }
    this.#calls.add(call)
    return call
  }

  #endOf(call: WatchedCall): () => void {
    return () => {
      this.#ended += 1
      this.#calls.delete(call)
    }
  }

  #isUnderWay(): boolean {
    if (this.#calls.size === 0) return false
    for (const call of this.#calls) if (call.signs > call.givenUpAt) return true
    return traffic() !== this.#trafficBefore
  }

  #signs(): number {
    if (this.#calls.size === 0) return this.#ended
    let signs = this.#ended + traffic()
    for (const call of this.#calls) signs += call.signs
    return signs
  }

  /** They are waited for again when they begin something more. */
  #giveUp(): void {
    this.#trafficBefore = traffic()
    for (const call of this.#calls) call.givenUpAt = call.signs
  }

  #watch(): void {
    if (this.#isWatching) return
    this.#isWatching = true
    watching += 1
    if (watching === 1) hook.enable()
  }

  #unwatch(): void {
    if (!this.#isWatching) return
    this.#isWatching = false
    watching -= 1
    if (watching > 0) return
    hook.disable()
    context.disable()
  }
}

/** The bytes that open sockets have carried, without those of the terminal. */
function traffic(): number {
  let bytes = 0
  for (const handle of activeHandles())
    if (handle instanceof Socket && !('fd' in handle)) bytes += handle.bytesWritten + handle.bytesRead
  return bytes
}

/** Node does not document it, and every version has it. */
function activeHandles(): readonly unknown[] {
  const { _getActiveHandles: handles } = process as { _getActiveHandles?: () => readonly unknown[] }
  return handles?.call(process) ?? []
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
