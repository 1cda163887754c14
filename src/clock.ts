/**
 * Time, as a parameter. The one file that reads it.
 *
 * Two clocks, never mixed: `now()` is the wall clock, for what is stored or shown; it may jump. `monotonic()`
 * only ever moves forward and is for durations. Timers are set against the monotonic one.
 */
import { TIMER_MS_MAX } from './core/input/duration.ts'

export interface Clock {
  /** Wall clock, epoch milliseconds. */
  now(): number
  /** Milliseconds since some fixed moment, with fractions. */
  monotonic(): number
  /**
   * Calls `run` once, not before `delayMs` have passed. Delays above 2^31-1 ms end early at that limit, where a
   * bare `setTimeout` would fire at once: a caller that waits longer schedules again.
   */
  schedule(delayMs: number, run: () => void): Timer
  /** Calls `run` as soon as what was begun in this turn of the event loop has left the process. */
  soon(run: () => void): void
  /**
   * A handler as this clock wants it to be called: a virtual clock stands still while one does real work. Only a virtual
   * clock has this; stores that keep real time refuse it.
   */
  watch?<Arguments extends unknown[], Result>(
    work: (...given: Arguments) => Result,
  ): (...given: Arguments) => Result
}

export type Timer = {
  cancel(): void
  /** Does not keep the process alive. Where it is missing, nothing does: a virtual clock. */
  unref?(): void
}

/** How long the event loop is turned to wait for a moment. */
const SPIN_MS_MAX = 0.3

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(delayMs, run) {
    const dueAt = performance.now() + Math.min(delayMs, TIMER_MS_MAX)
    let isCancelled = false
    let isUnreferenced = false
    const fire = (): void => {
      if (isCancelled) return
      // Node's timers can fire up to a millisecond early; callers were promised otherwise. Another timer would take
      // a whole millisecond more, so the very last of it is waited for by turning the event loop, which costs a CPU.
      const leftMs = dueAt - performance.now()
      if (leftMs > SPIN_MS_MAX) {
        handle = setTimeout(fire, Math.ceil(leftMs))
        if (isUnreferenced) handle.unref()
      } else if (leftMs > 0) setImmediate(fire)
      else run()
    }
    // A moment that has just passed makes a negative delay, of which newer versions of Node warn.
    let handle = setTimeout(fire, Math.max(0, Math.ceil(Math.min(delayMs, TIMER_MS_MAX))))
    return {
      cancel: () => {
        isCancelled = true
        clearTimeout(handle)
      },
      unref: () => {
        isUnreferenced = true
        handle.unref()
      },
    }
  },
  // Sockets are written to in this or the next turn, depending on the client library.
  soon: (run) => void setImmediate(() => setImmediate(run)),
}

/** Resolves after `delayMs`, or at once when `signal` aborts; the caller looks at the signal. */
export function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const wake = (): void => {
      timer.cancel()
      signal.removeEventListener('abort', wake)
      resolve()
    }
    const timer = clock.schedule(delayMs, wake)
    signal.addEventListener('abort', wake)
  })
}

/** True once `work` is done, false if that takes longer than `capMs`; the work then goes on. Rejects as `work` does. */
export function endsWithin(clock: Clock, capMs: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = clock.schedule(capMs, () => resolve(false))
    work.then(
      () => {
        timer.cancel()
        resolve(true)
      },
      (error: unknown) => {
        timer.cancel()
        reject(error instanceof Error ? error : new Error(String(error)))
      },
    )
  })
}
