/**
 * Where the thread stands, in one shared word, so that a process never ends in the middle of a native call: some
 * drivers abort then.
 *
 *   idle ──enter──► busy ──leave──► idle ──park (by the caller's side, at exit)──► parked, for good
 *
 * The thread is busy only inside native calls, not while it naps or waits for messages. If it dies while busy, the
 * process dies with it.
 */
import { systemClock } from '../../clock.ts'

const IDLE = 0
const BUSY = 1
const PARKED = 2

export function newStanding(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4))
}

/** The thread is about to work. Once parked it stands still here until the process ends. */
export function enter(word: Int32Array): void {
  while (Atomics.compareExchange(word, 0, IDLE, BUSY) === PARKED) Atomics.wait(word, 0, PARKED)
}

export function leave(word: Int32Array): void {
  Atomics.store(word, 0, IDLE)
  Atomics.notify(word, 0)
}

/** Blocks until the thread stands between two calls, at most `ms`. From then on it does nothing more. */
export function park(word: Int32Array, ms: number): boolean {
  const until = systemClock.monotonic() + ms
  while (Atomics.compareExchange(word, 0, IDLE, PARKED) === BUSY) {
    const leftMs = until - systemClock.monotonic()
    if (leftMs <= 0) return false
    Atomics.wait(word, 0, BUSY, leftMs)
  }
  return true
}
