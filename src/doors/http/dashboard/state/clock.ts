/** Time in the browser, the only file of the dashboard that reads it. Moments are the server's: a browser's clock may be wrong. */
import { signal } from '@preact/signals'

let aheadMs = 0

/** Epoch milliseconds by the server's clock; moves once a second. */
export const now = signal(Date.now())

export function serverNow(): number {
  return Date.now() + aheadMs
}

/** Every answer says what time it is there. Below two seconds it is the way, not the clock. */
export function correctClock(serverMs: number): void {
  const found = serverMs - Date.now()
  if (Math.abs(found - aheadMs) < 2_000) return
  aheadMs = found
  now.value = serverNow()
}

export function after(ms: number, run: () => void): () => void {
  const timer = window.setTimeout(run, ms)
  return () => window.clearTimeout(timer)
}

export function every(ms: number, run: () => void): () => void {
  const timer = window.setInterval(run, ms)
  return () => window.clearInterval(timer)
}

export function startClock(): void {
  every(1_000, () => (now.value = serverNow()))
}
