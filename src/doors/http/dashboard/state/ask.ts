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

type Begun = { readonly answer: Promise<unknown>; held?: Held<unknown> }

const begun = new Map<string, Begun>()

/** Asks what a page that is not drawn yet will ask: it finds the answer, or one that is under way. */
export function askAhead(path: string): void {
  const question: Begun = { answer: call('GET', path) }
  begun.set(path, question)
  question.answer.then(
    (value) => (question.held = { path, value, trouble: undefined, at: serverNow() }),
    () => undefined, // The page that takes it over is told.
  )
}

function heldAhead<T>(path: string | undefined): Held<T> {
  const question = path === undefined ? undefined : begun.get(path)
  return (question?.held as Held<T> | undefined) ?? NOTHING
}

function ask<T>(path: string, signal: AbortSignal): Promise<T> {
  const question = begun.get(path)
  if (question === undefined) return call<T>('GET', path, { signal })
  begun.delete(path)
  return question.answer as Promise<T>
}

/** Undefined: nothing to ask yet. */
export function useAnswer<T>(path: string | undefined, how: 'live' | 'once' = 'live'): Asked<T> {
  const [held, setHeld] = useState<Held<T>>(() => heldAhead(path))
  const turn = how === 'live' ? beat.value : 0
  useEffect(() => {
    if (path === undefined) return undefined
    const abort = new AbortController()
    ask<T>(path, abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setHeld({ path, value, trouble: undefined, at: serverNow() })
      },
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
