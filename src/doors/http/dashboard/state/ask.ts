/** A question to the server that a component asks, and asks again while it is shown. */
import { useEffect, useState } from 'preact/hooks'
import { call, troubleOf } from './api.ts'
import { serverNow } from './clock.ts'
import { beat } from './live.ts'
import type { Trouble } from './wire.ts'

export type Asked<T> = {
  /** The last good answer; it stays while a newer one is on its way, and when that fails. */
  readonly value: T | undefined
  readonly trouble: Trouble | undefined
  /** When `value` came. */
  readonly at: number
  /** `value` answers another question: the one before this. */
  readonly isOld: boolean
}

type Held<T> = {
  readonly path: string | undefined
  readonly value: T | undefined
  readonly trouble: Trouble | undefined
  readonly at: number
}

const NOTHING = { path: undefined, value: undefined, trouble: undefined, at: 0 } as const

/** Undefined: nothing to ask yet. */
export function useAnswer<T>(path: string | undefined, how: 'live' | 'once' = 'live'): Asked<T> {
  const [held, setHeld] = useState<Held<T>>(NOTHING)
  const turn = how === 'live' ? beat.value : 0
  useEffect(() => {
    if (path === undefined) return undefined
    const abort = new AbortController()
    call<T>('GET', path, { signal: abort.signal }).then(
      (value) => setHeld({ path, value, trouble: undefined, at: serverNow() }),
      (error: unknown) => {
        if (abort.signal.aborted) return
        const trouble = troubleOf(error)
        // What is not there any more must not be shown as if it were.
        const isGone = trouble.status === 404
        setHeld((before) => ({ ...before, path, trouble, ...(isGone ? { value: undefined } : {}) }))
      },
    )
    return () => abort.abort()
  }, [path, turn])
  return { value: held.value, trouble: held.trouble, at: held.at, isOld: held.path !== path }
}
