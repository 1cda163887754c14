/**
 * What a handler attaches to its attempt (P15): stored with its completion, in the same step, or not at all. Each is
 * checked when it is attached; a schema may take its time, and the attempt ends only after it has answered. One that was
 * refused fails the attempt: the handler that attached it wanted it stored.
 */
import { UsageError } from '../../core/errors.ts'
import { hasSlot } from '../../core/machines/run.ts'
import { FOLLOW_UPS_MAX, sizeOfMessage } from '../../store/contract/sizes.ts'
import type { LeaseRef, NewMessage } from '../../store/contract/store.ts'
import type { Run } from './run.ts'

/** A message that may be attached, and the answer of its schema where there is one. */
export type FollowUpDraft = { readonly message: NewMessage; readonly checked: Promise<void> | undefined }

/** Checks what can be checked at once. `isHome`: only with such an id can it be stored together with the message. */
export type MakeFollowUp = (
  topic: unknown,
  payload: unknown,
  options: unknown,
  isHome: (id: string) => boolean,
) => FollowUpDraft

export class FollowUpList {
  readonly #bytesMax: number
  readonly #messages: NewMessage[] = []
  readonly #pending = new Set<Promise<void>>()
  #bytes = 0
  #failure: { readonly error: unknown } | undefined

  /** `bytesMax`: of all of them together, unless there is only one. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get messages(): readonly NewMessage[] {
    return this.#messages
  }

  /** The first that was refused. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure
  }

  /** Resolves when the schemas that still look have answered; undefined where none does. */
  whenChecked(): Promise<unknown> | undefined {
    return this.#pending.size === 0 ? undefined : Promise.all(this.#pending)
  }

  /** Resolves to its id. A caller that does not wait for it hears of a refusal as the failure of the attempt. */
  attach(make: () => FollowUpDraft): Promise<string> {
    const attached = this.#attach(make)
    const noted = attached.then(
      () => undefined,
      (error: unknown) => {
        this.#failure ??= { error }
      },
    )
    this.#pending.add(noted)
    void noted.then(() => this.#pending.delete(noted))
    return attached
  }

  async #attach(make: () => FollowUpDraft): Promise<string> {
    const { message, checked } = make()
    this.#bytes += sizeOfMessage(message)
    this.#messages.push(message)
    if (this.#messages.length > FOLLOW_UPS_MAX) throw tooMany()
    if (this.#bytes > this.#bytesMax && this.#messages.length > 1) throw tooLarge(this.#bytes, this.#bytesMax)
    await checked
    return message.id
  }
}

/** The handler of a run attaches a message. */
export async function attachFollowUp(
  run: Run,
  { makeFollowUp, followUpBytesMax }: FollowUpParts,
  [topic, payload, options]: readonly [topic: unknown, payload: unknown, options: unknown],
): Promise<string> {
  if (!hasSlot(run.state)) throw attemptOver(run.lease)
  run.followUps ??= new FollowUpList(followUpBytesMax)
  const isHome = (id: string): boolean => run.source.isHome(id)
  return run.followUps.attach(() => makeFollowUp(topic, payload, options, isHome))
}

export type FollowUpParts = {
  readonly makeFollowUp: MakeFollowUp
  /** The most bytes that one attempt may attach. */
  readonly followUpBytesMax: number
}

function attemptOver({ topic, id }: LeaseRef): UsageError {
  return new UsageError(
    'ATTEMPT_OVER',
    `the attempt of ${topic} ${id} is over; attach follow-ups before the handler ends.`,
    { value: id },
  )
}

function tooMany(): UsageError {
  return new UsageError(
    'BATCH_TOO_LARGE',
    `an attempt has more than ${FOLLOW_UPS_MAX} follow-ups; attach one that produces the others.`,
    { value: FOLLOW_UPS_MAX + 1 },
  )
}

function tooLarge(bytes: number, max: number): UsageError {
  return new UsageError(
    'BATCH_TOO_LARGE',
    `the follow-ups of an attempt have ${bytes} bytes together; this store takes ${max} at once.`,
    { value: bytes },
  )
}
