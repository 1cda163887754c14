/**
 * Hands new messages to the store. Calls made in the same turn of the event loop share one `put`; a lone call waits
 * for nobody.
 *
 * A generated id that turns out to be taken by another message is drawn again: 54 bits of chance per millisecond
 * make that rare, and this makes it harmless.
 */
import type { Clock } from '../clock.ts'
import { assertNever, InvariantError, UsageError } from '../core/errors.ts'
import { makeId } from '../core/id.ts'
import type { IfExists } from '../core/input/request.ts'
import type { Random } from '../random.ts'
import type { NewMessage, PutResult, Store } from '../store/contract/store.ts'

export type Draft = {
  readonly message: NewMessage
  readonly ifExists: IfExists
  readonly hasOwnId: boolean
}

type Call = {
  readonly draft: Draft
  readonly resolve: (id: string) => void
  readonly reject: (error: unknown) => void
}

/** So many clashes are no chance. */
const CLASHES_MAX = 10
/** How many batches of one `produceMany` are on their way at once. */
const PARALLEL_BATCHES = 4

export class Producer {
  readonly #store: Store
  readonly #clock: Clock
  readonly #random: Random
  #calls: Call[] = []
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(store: Store, clock: Clock, random: Random) {
    this.#store = store
    this.#clock = clock
    this.#random = random
  }

  produce(draft: Draft): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#calls.push({ draft, resolve, reject })
      // After everything that this turn still has to say, but before the event loop goes on.
      if (this.#calls.length === 1) process.nextTick(() => this.#flush())
    })
  }

  /** Resolves to the ids in order. Rejects if any was refused; the others are stored all the same. */
  async produceMany(drafts: readonly Draft[]): Promise<string[]> {
    const ids: string[] = drafts.map(({ message }) => message.id)
    const refusals: UsageError[] = []
    const { batchMax } = this.#store.capabilities
    let from = 0
    const work = async (): Promise<void> => {
      while (from < drafts.length) {
        const start = from
        from += batchMax
        const batch = drafts.slice(start, start + batchMax)
        const results = await this.#put(batch)
        for (const [i, draft] of batch.entries()) {
          if (results[i] === 'stored') continue
          const id = await this.#conclude(draft, results[i])
          if (typeof id === 'string') ids[start + i] = id
          else refusals.push(id)
        }
      }
    }
    await this.#track(Promise.all(Array.from({ length: PARALLEL_BATCHES }, work)))
    if (refusals[0] !== undefined) throw summary(refusals[0], refusals.length, drafts.length)
    return ids
  }

  /** Resolves when everything handed over so far was answered. */
  async drain(): Promise<void> {
    this.#flush()
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }

  #flush(): void {
    const { batchMax } = this.#store.capabilities
    const calls = this.#calls
    this.#calls = []
    for (let from = 0; from < calls.length; from += batchMax) {
      void this.#track(this.#send(calls.length <= batchMax ? calls : calls.slice(from, from + batchMax)))
    }
  }

  /** Never rejects: each caller hears of its own message. */
  async #send(calls: readonly Call[]): Promise<void> {
    try {
      const results = await this.#put(calls.map(({ draft }) => draft))
      for (const [i, { draft, resolve, reject }] of calls.entries()) {
        const result = results[i]
        if (result === 'stored') resolve(draft.message.id)
        else
          this.#conclude(draft, result).then(
            (id) => (typeof id === 'string' ? resolve(id) : reject(id)),
            reject,
          )
      }
    } catch (error) {
      for (const { reject } of calls) reject(error)
    }
  }

  #put(drafts: readonly Draft[]): Promise<PutResult[]> {
    return this.#store.put(drafts.map(({ message }) => message))
  }

  /** The id under which the message is known, or why it was refused. */
  async #conclude(draft: Draft, result: PutResult | undefined): Promise<string | UsageError> {
    const { message, ifExists, hasOwnId } = draft
    switch (result) {
      case 'stored':
      case 'replaced':
        return message.id
      case 'duplicate':
        if (!hasOwnId) return this.#resolveClash(draft)
        return ifExists === 'fail' ? idExists(message.id) : message.id
      case 'running':
        return new UsageError(
          'MESSAGE_RUNNING',
          `"${message.id}" runs right now and cannot be replaced; wait for its end, or use another id.`,
          { value: message.id },
        )
      case undefined:
        throw new InvariantError('the store answered fewer messages than it was given')
      default:
        return assertNever(result)
    }
  }

  /** Our generated id exists. If that is our own message (a call that the network doubled), all is well. */
  async #resolveClash(draft: Draft): Promise<string | UsageError> {
    for (let tries = 0; tries < CLASHES_MAX; tries += 1) {
      const { message } = draft
      const [found] = (await this.#store.inspect({ ids: [message.id] })).items
      if (found === undefined || (found.topic === message.topic && found.body === message.body))
        return message.id
      const id = makeId(this.#clock.now(), this.#random.next(), this.#random.next())
      draft = { ...draft, message: { ...message, id } }
      const [result] = await this.#put([draft])
      if (result !== 'duplicate') return this.#conclude(draft, result)
    }
    throw new InvariantError(`${CLASHES_MAX} generated ids in a row exist already; "random" is not random.`)
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work)
    const forget = (): boolean => this.#underWay.delete(work)
    work.then(forget, forget)
    return work
  }
}

function idExists(id: string): UsageError {
  return new UsageError(
    'ID_EXISTS',
    `a message with id "${id}" exists; use another id, or ifExists "keep" or "replace".`,
    { value: id },
  )
}

function summary(first: UsageError, refused: number, total: number): UsageError {
  if (total === 1) return first
  const others = `${refused} of ${total} refused, the other ${total - refused} are stored`
  return new UsageError(first.code, `${first.message} (${others}.)`, { value: first.value, cause: first })
}
