/**
 * A deadline for an answer, which counts only time in which the answer could have been heard.
 *
 *   |---- callTimeout ----|                     the timer fires late: the event loop stood still, and the answer may
 *   |---- standstill --------------|..again..|  lie in the socket, which is read after the timers
 *
 * So before anything is given up the sockets are read, and a timer that fires late by more than a second is set again
 * for as long as it was late.
 */
import type { Clock, Timer } from '../../clock.ts'

const STANDSTILL_MS = 1000

export function startDeadline(clock: Clock, timeoutMs: number, expire: () => void): Timer {
  let isOver = false
  let timer = wait(timeoutMs)

  function wait(ms: number): Timer {
    const dueAt = clock.monotonic() + ms
    return clock.schedule(ms, () => {
      const lateMs = clock.monotonic() - dueAt
      if (lateMs > STANDSTILL_MS) timer = wait(lateMs)
      else clock.soon(end)
    })
  }

  function end(): void {
    if (!isOver) expire()
    isOver = true
  }

  return {
    cancel() {
      isOver = true
      timer.cancel()
    },
  }
}
