/** SIGINT and SIGTERM, listened to only while `run()` or the command line asks for it. */
import { systemClock } from '../clock.ts'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const
/** The same signal within this time is the first one again: a parent process relays what the terminal has sent to both. */
const RELAYED_MS = 500

export type Signalled = {
  /** Resolves at the first signal. */
  readonly first: Promise<void>
  /** Takes the listeners away. */
  readonly end: () => void
}

/** `onSecond` is called for every signal after the first, unless it was relayed. */
export function untilSignalled(onSecond: () => void): Signalled {
  const signalled = new EventTarget()
  const first = new Promise<void>((resolve) => signalled.addEventListener('first', () => resolve()))
  let heard: { readonly signal: string; readonly at: number } | undefined
  const listener = (signal: string): void => {
    const at = systemClock.monotonic()
    if (heard === undefined) {
      heard = { signal, at }
      signalled.dispatchEvent(new Event('first'))
    } else if (signal !== heard.signal || at - heard.at > RELAYED_MS) onSecond()
  }
  for (const signal of SIGNALS) process.on(signal, listener)
  return {
    first,
    end: () => {
      for (const signal of SIGNALS) process.off(signal, listener)
    },
  }
}
