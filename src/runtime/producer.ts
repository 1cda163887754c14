/**
 * Hands new messages to the store. Calls made in the same turn of the event loop share one `put`; a lone call waits
 * for nobody. Batches are cut by bytes too, and only so many bytes are on their way at once: what is too much for one
 * call, or for the time that the store has for a call, waits here.
 *
 * A generated id that turns out to be taken by another message is drawn again: 54 bits of chance per millisecond
 * make that rare, and this makes it harmless.
 */
import type { Clock } from '../clock.ts'
import { assertNever, InvariantError, UsageError } from '../core/errors.ts'
import { makeId } from '../core/encoding/id.ts'
import type { IfExists } from '../core/input/request.ts'
import { cutBatches, Turn, type BatchLimits } from '../core/turn.ts'
import type { Random } from '../random.ts'
import { sizeOfMessage } from '../store/contract/sizes.ts'
import type { NewMessage, PutResult, Store } from '../store/contract/store.ts'

export type Draft = {
  readonly message: NewMessage
  readonly ifExists: IfExists
  readonly hasOwnId: boolean
}

/** What became of a draft: `kept` is one that found its id taken, and was left out. */
export type Produced = { readonly id: string; readonly outcome: 'stored' | 'kept' | 'replaced' }

/** A call of `produce` that waits for its answer. */
type PendingProduce = {
  readonly draft: Draft
  readonly resolve: (id: string, outcome: Produced['outcome']) => void
  readonly reject: (error: unknown) => void
}

/** So many clashes are no chance. */
const CLASHES_MAX = 10
/** How many batches of one `produceMany`, and how many times the bytes of the largest batch, are on their way at once. */
const PARALLEL_BATCHES = 4
/** The produce with this number in a turn sends: the store begins while the turn goes on. */
const EARLY_AT = 50

export class Producer {
  readonly #store: Store
  readonly #clock: Clock
  readonly #random: Random
  readonly #limits: BatchLimits<Draft>
  readonly #turn: Turn<PendingProduce>
  readonly #budget: ByteBudget
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(store: Store, clock: Clock, random: Random) {
    this.#store = store
    this.#clock = clock
    this.#random = random
    const { batchMax: entriesMax, batchBytesMax: bytesMax } = store.capabilities
    this.#limits = { entriesMax, bytesMax, sizeOf: ({ message }) => sizeOfMessage(message) }
    this.#budget = new ByteBudget(bytesMax * PARALLEL_BATCHES)
    this.#turn = new Turn<PendingProduce>({
      entriesMax,
      bytesMax,
      sizeOf: ({ draft }) => sizeOfMessage(draft.message),
      earlyAt: EARLY_AT,
      atTurnEnd: (run) => process.nextTick(run),
      send: (calls) => void this.#track(this.#send(calls)),
    })
  }

  produce(draft: Draft): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#turn.add({ draft, resolve, reject })
    })
  }

  /** The same, and tells what became of it. */
  produceOne(draft: Draft): Promise<Produced> {
    return new Promise((resolve, reject) => {
      this.#turn.add({ draft, resolve: (id, outcome) => resolve({ id, outcome }), reject })
    })
  }

  /** Resolves to the ids in order. Rejects if any was refused; the others are stored all the same. */
  async produceMany(drafts: readonly Draft[]): Promise<string[]> {
    const ids: string[] = []
    const refusals: UsageError[] = []
    for (const result of await this.produceEach(drafts))
      if (result instanceof UsageError) refusals.push(result)
      else ids.push(result.id)
    if (refusals[0] !== undefined) throw summary(refusals[0], refusals.length, drafts.length)
    return ids
  }

  /** What became of each, in order: those that were refused do not keep the others from being stored. */
  async produceEach(drafts: readonly Draft[]): Promise<(Produced | UsageError)[]> {
    const answers: (Produced | UsageError)[] = []
    const batches = drafts.length === 0 ? [] : cutBatches(drafts, this.#limits)
    let next = 0
    let from = 0
    const work = async (): Promise<void> => {
      for (let batch = batches[next]; batch !== undefined; batch = batches[next]) {
        const start = from
        next += 1
        from += batch.length
        const results = await this.#put(batch)
        for (const [i, draft] of batch.entries()) {
          answers[start + i] =
            results[i] === 'stored'
              ? { id: draft.message.id, outcome: 'stored' }
              : await this.#conclude(draft, results[i])
        }
      }
    }
    await this.#track(Promise.all(Array.from({ length: PARALLEL_BATCHES }, work)))
    return answers
  }

  /** Resolves when everything handed over so far was answered. */
  async drain(): Promise<void> {
    this.#turn.flush()
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }

  /** Never rejects: each caller hears of its own message. */
  async #send(calls: readonly PendingProduce[]): Promise<void> {
    try {
      const results = await this.#put(calls.map(({ draft }) => draft))
      for (const [i, { draft, resolve, reject }] of calls.entries()) {
        const result = results[i]
        if (result === 'stored') resolve(draft.message.id, 'stored')
        else
          this.#conclude(draft, result).then(
            (answer) => (answer instanceof UsageError ? reject(answer) : resolve(answer.id, answer.outcome)),
            reject,
          )
      }
    } catch (error) {
      for (const { reject } of calls) reject(error)
    }
  }

  async #put(drafts: readonly Draft[]): Promise<PutResult[]> {
    const messages = drafts.map(({ message }) => message)
    const bytes = messages.reduce((sum, message) => sum + sizeOfMessage(message), 0)
    if (!this.#budget.take(bytes)) await this.#budget.waitFor(bytes)
    try {
      return await this.#store.put(messages)
    } finally {
      this.#budget.giveBack(bytes)
    }
  }

  /** What became of it, or why it was refused. */
  async #conclude(draft: Draft, result: PutResult | undefined): Promise<Produced | UsageError> {
    const {
      message: { id },
      ifExists,
      hasOwnId,
    } = draft
    switch (result) {
      case 'stored':
        return { id, outcome: 'stored' }
      case 'replaced':
      case 'succeeds':
        return { id, outcome: 'replaced' }
      case 'duplicate':
        if (!hasOwnId) return this.#resolveClash(draft)
        return ifExists === 'fail' ? idExists(id) : { id, outcome: 'kept' }
      case undefined:
        throw new InvariantError('the store answered fewer messages than it was given')
      default:
        return assertNever(result)
    }
  }

  /** Our generated id exists. If that is our own message (a call that the network doubled), all is well. */
  async #resolveClash(draft: Draft): Promise<Produced | UsageError> {
    for (let tries = 0; tries < CLASHES_MAX; tries += 1) {
      const { message } = draft
      const [found] = (await this.#store.inspect({ ids: [message.id] })).items
      if (found === undefined || (found.topic === message.topic && found.body === message.body))
        return { id: message.id, outcome: 'stored' }
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

/** So many bytes at once, in the order in which they were asked for; more only for one that finds nothing under way. */
class ByteBudget {
  readonly #max: number
  #taken = 0
  readonly #waiting: { readonly bytes: number; readonly go: () => void }[] = []

  constructor(max: number) {
    this.#max = max
  }

  /** False: the caller must wait its turn. */
  take(bytes: number): boolean {
    if (this.#waiting.length > 0 || !this.#fits(bytes)) return false
    this.#taken += bytes
    return true
  }

  waitFor(bytes: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ bytes, go: resolve }))
  }

  giveBack(bytes: number): void {
    this.#taken -= bytes
    for (
      let [first] = this.#waiting;
      first !== undefined && this.#fits(first.bytes);
      [first] = this.#waiting
    ) {
      this.#waiting.shift()
      this.#taken += first.bytes
      first.go()
    }
  }

  #fits(bytes: number): boolean {
    return this.#taken === 0 || this.#taken + bytes <= this.#max
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
