/** One attempt: from the stored text to the handler's end. */
import { decodePayload } from '../../core/encoding/codec.ts'
import { formatDuration, type Duration } from '../../core/input/duration.ts'
import { assertNever } from '../../core/errors.ts'
import { DeadLetter, type Ending } from '../../core/machines/outcome.ts'
import { validate } from '../../core/input/schema.ts'
import type { AbortCause } from '../../core/machines/run.ts'
import type { Message } from '../handler.ts'
import type { Tracing } from '../telling/tracing.ts'
import { attachFollowUp, type FollowUpParts } from './follow-ups.ts'
import { completeIn, type JoiningParts } from './joining.ts'
import type { Run } from './run.ts'

const RETURNED: Ending = { kind: 'returned' }
/** Given back as it was: the handler has seen nothing of it. */
const UNSTARTED: Ending = { kind: 'stopped' }

/** What a handler's own words need. */
export type HandlerParts = FollowUpParts & JoiningParts & { readonly tracing: Tracing | undefined }

export type AttemptParts = HandlerParts & {
  readonly extend: (run: Run, by: Duration | undefined) => Promise<boolean>
  /** The handler says that it has completed. */
  readonly complete: (run: Run) => void
  /** Whether the lease still lives, as far as can be known here. */
  readonly isLeased: (run: Run) => boolean
  readonly ended: (run: Run, ending: Ending) => void
}

/** Calls `ended` exactly once, perhaps before it returns. */
export function attempt(run: Run, parts: AttemptParts): void {
  const { isLeased, ended } = parts
  let payload: unknown
  try {
    payload = decodePayload(run.lease.body)
  } catch (cause) {
    const error = new DeadLetter('unreadable', { cause })
    ended(run, { kind: 'threw', error })
    return
  }
  const { schema, own } = run.lane
  if (own !== undefined) {
    own(run.lease, payload, run.latenessMs).then(
      ({ again, carried }) => {
        run.carried = carried
        ended(run, again === undefined ? RETURNED : { kind: 'again', when: again })
      },
      (error: unknown) => ended(run, { kind: 'threw', error }),
    )
    return
  }
  if (schema === undefined) {
    callHandler(run, payload, parts)
    return
  }
  validate(schema, run.lease.topic, payload).then(
    // A schema may take its time, and what began to run may be over by now: its timeout, its worker, its lease.
    (value) => {
      if (run.state.name === 'running' && isLeased(run)) callHandler(run, value, parts)
      else ended(run, UNSTARTED)
    },
    // The schema has changed since the message was produced, or was never asked. A retry cannot help.
    (cause: unknown) => ended(run, { kind: 'threw', error: new DeadLetter('schema', { cause }) }),
  )
}

function callHandler(run: Run, payload: unknown, parts: AttemptParts): void {
  const { remote } = run.lane
  if (remote !== undefined) return remote.start(run, (ending) => parts.ended(run, ending))
  let result: unknown
  try {
    const { handler } = run.lane
    const message = new RunMessage(run, payload, parts)
    result =
      parts.tracing === undefined
        ? handler(message)
        : parts.tracing.handling(message, run.policy.trace, () => handler(message))
  } catch (error) {
    finish(run, { kind: 'threw', error }, parts)
    return
  }
  if (isThenable(result)) {
    result.then(
      (value) => finish(run, returned(value), parts),
      (error: unknown) => finish(run, { kind: 'threw', error }, parts),
    )
  } else {
    finish(run, returned(result), parts)
  }
}

/** What the handler attached must be checked before its attempt can complete. */
function finish(run: Run, ending: Ending, { ended }: AttemptParts): void {
  const { followUps, state } = run
  const completes = ending.kind === 'returned' || ('isComplete' in state && state.isComplete)
  if (followUps === undefined || !completes) return ended(run, ending)
  const end = (): void => {
    const { failure } = followUps
    ended(run, failure === undefined ? ending : { kind: 'threw', error: failure.error })
  }
  const checking = followUps.whenChecked()
  if (checking === undefined) end()
  else void checking.then(end)
}

function returned(result: unknown): Ending {
  return result === undefined ? RETURNED : { kind: 'returned', result }
}

/** What the signal of a handler that should end carries as its reason. */
export function abortError({ lease, timeoutMs }: Run, why: AbortCause): Error {
  return new DOMException(`${lease.topic} ${lease.id}: ${causeText(why, timeoutMs)}`, 'AbortError')
}

function causeText(why: AbortCause, timeoutMs: number): string {
  switch (why) {
    case 'timeout':
      return `it did not end within its timeout of ${formatDuration(timeoutMs)}`
    case 'stop':
      return 'its worker stops'
    case 'doubt':
      return 'its lease may be lost: the store does not answer'
    case 'cancel':
      return 'it was cancelled'
    case 'lost':
      return 'its lease was lost: another worker may have the message'
    default:
      return assertNever(why)
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

const NO_TAGS: readonly string[] = []

class RunMessage implements Message {
  readonly id: string
  readonly topic: string
  readonly payload: unknown
  readonly dueAt: number
  readonly latenessMs: number
  readonly attempt: number
  readonly #run: Run
  readonly #parts: AttemptParts

  constructor(run: Run, payload: unknown, parts: AttemptParts) {
    this.id = run.lease.id
    this.topic = run.lease.topic
    this.payload = payload
    this.dueAt = run.lease.dueAt
    this.latenessMs = run.latenessMs
    this.attempt = run.lease.attempt
    this.#run = run
    this.#parts = parts
  }

  get tags(): readonly string[] {
    return this.#run.policy.tags ?? NO_TAGS
  }

  get key(): string | undefined {
    return this.#run.lease.key
  }

  get signal(): AbortSignal {
    return this.#run.signal
  }

  /** Getters, so that `({ extend, complete }) => ...` works as with every other field. */
  get extend(): (by?: Duration) => Promise<boolean> {
    return (by) => this.#parts.extend(this.#run, by)
  }

  get complete(): Message['complete'] {
    const [run, parts] = [this.#run, this.#parts]
    return ((options?: unknown) =>
      options === undefined ? parts.complete(run) : completeIn(run, parts, options)) as Message['complete']
  }

  get followUp(): Message['followUp'] {
    return (topic, payload, options) => attachFollowUp(this.#run, this.#parts, [topic, payload, options])
  }
}
