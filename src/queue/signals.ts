/** SIGINT and SIGTERM, listened to only while `run()` or the command line asks for it. */
const SIGNALS = ['SIGINT', 'SIGTERM'] as const

export type Signalled = {
  /** Resolves at the first signal. */
  readonly first: Promise<void>
  /** Takes the listeners away. */
  readonly end: () => void
}

/** `onSecond` is called for every signal after the first. */
export function untilSignalled(onSecond: () => void): Signalled {
  const signalled = new EventTarget()
  const first = new Promise<void>((resolve) => signalled.addEventListener('first', () => resolve()))
  let count = 0
  const listener = (): void => {
    count += 1
    if (count === 1) signalled.dispatchEvent(new Event('first'))
    else onSecond()
  }
  for (const signal of SIGNALS) process.on(signal, listener)
  return {
    first,
    end: () => {
      for (const signal of SIGNALS) process.off(signal, listener)
    },
  }
}
