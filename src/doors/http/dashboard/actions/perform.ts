/** One call that changes something: while it is under way, and what it said. */
import { useState } from 'preact/hooks'
import { call, troubleOf, type Method } from '../state/api.ts'
import { refresh } from '../state/live.ts'
import type { Trouble } from '../state/wire.ts'

export type UnderWay = {
  readonly isBusy: boolean
  readonly trouble: Trouble | undefined
  /** Calls the server; `then` runs when it agreed. */
  readonly perform: (
    how: { readonly method: Method; readonly path: string; readonly body?: unknown },
    then: (answer: unknown) => void,
  ) => void
}

export function usePerform(): UnderWay {
  const [isBusy, setBusy] = useState(false)
  const [trouble, setTrouble] = useState<Trouble | undefined>(undefined)
  const perform: UnderWay['perform'] = ({ method, path, body }, then) => {
    setBusy(true)
    setTrouble(undefined)
    call(method, path, body === undefined ? {} : { body }).then(
      (answer) => {
        setBusy(false)
        refresh()
        then(answer)
      },
      (error: unknown) => {
        setBusy(false)
        setTrouble(troubleOf(error))
      },
    )
  }
  return { isBusy, trouble, perform }
}
