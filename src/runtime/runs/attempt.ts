/** One attempt: from the stored text to the handler's end. */
import { decodePayload } from '../../core/codec.ts'
import type { Duration } from '../../core/input/duration.ts'
import { DeadLetter, type Ending } from '../../core/outcome.ts'
import { validate } from '../../core/input/schema.ts'
import type { Message } from '../handler.ts'
import type { Run } from './run.ts'

const RETURNED: Ending = { kind: 'returned' }
/** Given back as it was: the handler has seen nothing of it. */
const UNSTARTED: Ending = { kind: 'stopped' }

export type Extend = (run: Run, by: Duration | undefined) => Promise<boolean>

export type AttemptParts = {
  readonly extend: Extend
  /** Whether the lease still lives, as far as can be known here. */
  readonly isLeased: (run: Run) => boolean
  readonly ended: (run: Run, ending: Ending) => void
}

/** Calls `ended` exactly once, perhaps before it returns. */
export function attempt(run: Run, { extend, isLeased, ended }: AttemptParts): void {
  let payload: unknown
  try {
    payload = decodePayload(run.lease.body)
  } catch (cause) {
    const error = new DeadLetter('unreadable', { cause })
    ended(run, { kind: 'threw', error })
    return
  }
  const { schema } = run.lane
  if (schema === undefined) {
    callHandler(run, payload, extend, ended)
    return
  }
  validate(schema, run.lease.topic, payload).then(
    // A schema may take its time, and what began to run may be over by now: its timeout, its worker, its lease.
    (value) => {
      if (run.phase === 'running' && !run.isAborted && isLeased(run)) callHandler(run, value, extend, ended)
      else ended(run, run.isTimedOut ? { kind: 'timed out', timeoutMs: run.timeoutMs } : UNSTARTED)
    },
    // The schema has changed since the message was produced, or was never asked. A retry cannot help.
    (cause: unknown) => ended(run, { kind: 'threw', error: new DeadLetter('schema', { cause }) }),
  )
}

function callHandler(
  run: Run,
  payload: unknown,
  extend: Extend,
  ended: (run: Run, ending: Ending) => void,
): void {
  let result: unknown
  try {
    result = run.lane.handler(new RunMessage(run, payload, extend))
  } catch (error) {
    ended(run, { kind: 'threw', error })
    return
  }
  if (isThenable(result)) {
    result.then(
      () => ended(run, RETURNED),
      (error: unknown) => ended(run, { kind: 'threw', error }),
    )
  } else {
    ended(run, RETURNED)
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

class RunMessage implements Message {
  readonly id: string
  readonly topic: string
  readonly payload: unknown
  readonly dueAt: number
  readonly latenessMs: number
  readonly attempt: number
  readonly #run: Run
  readonly #extend: Extend

  constructor(run: Run, payload: unknown, extend: Extend) {
    this.id = run.lease.id
    this.topic = run.lease.topic
    this.payload = payload
    this.dueAt = run.lease.dueAt
    this.latenessMs = run.latenessMs
    this.attempt = run.lease.attempt
    this.#run = run
    this.#extend = extend
  }

  get signal(): AbortSignal {
    return this.#run.signal
  }

  /** A getter, so that `({ extend }) => ...` works like every other field. */
  get extend(): (by?: Duration) => Promise<boolean> {
    return (by) => this.#extend(this.#run, by)
  }
}
