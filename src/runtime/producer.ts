/**
 * Hands new messages to the store. Calls made in the same turn of the event loop share one `put`; a lone call does
 * not wait. Batches are cut by bytes too, and only so many bytes are on their way at once: what is too much for one
 * call, or for the time that the store has for a call, waits here.
 *
 * A generated id that turns out to be taken by another message is drawn again: 54 bits of chance per millisecond
 * make that rare, and this makes it harmless.
 */
import type { Clock } from '../clock.ts'
import { assertNever, InvariantError, UsageError } from '../core/errors.ts'
import { makeId } from '../core/encoding/id.ts'
import type { IfExists } from '../core/input/request.ts'
import { Gatherer, type BatchLimits } from '../core/gathering.ts'
import type { Random } from '../random.ts'
import { partitionsOf } from '../store/contract/partitions.ts'
import { sizeOfMessage } from '../store/contract/sizes.ts'
import { ByteBudget } from './producing/byte-budget.ts'
import {
  idExists,
  produceFailure,
  refusalSummary,
  singleFailure,
  type FailedBatch,
} from './producing/failures.ts'
import { placeDrafts } from './producing/placement.ts'
import type { QueueMeter } from './telling/meter.ts'
import type { NewMessage, Partitions, PutResult, Store } from '../store/contract/store.ts'

export type Draft = {
  readonly message: NewMessage
  readonly ifExists: IfExists
  readonly hasOwnId: boolean
  /** What a generated id begins with. */
  readonly idPrefix: string
}

/** What became of a draft: `kept` is one that found its id taken, and was left out. */
export type Produced = { readonly id: string; readonly outcome: 'stored' | 'kept' | 'replaced' }

/** A call of `produce` that waits for its answer. */
type PendingProduce = {
  readonly draft: Draft
  readonly resolve: (id: string, outcome: Produced['outcome']) => void
  readonly reject: (error: unknown) => void
}

/** After so many clashes in a row, chance is broken. */
const CLASHES_MAX = 10
/** How many batches of one `produceMany`, and how many times the bytes of the largest batch, are on their way at once. */
const PARALLEL_BATCHES = 4
/** The produce with this number in a turn sends: the store begins while the turn goes on. */
const EARLY_AT = 50

export class Producer {
  readonly #store: Store
  readonly #clock: Clock
  readonly #random: Random
  readonly #meter: QueueMeter
  readonly #limits: BatchLimits<Draft>
  readonly #partitions: Partitions
  /** One for each partition. */
  readonly #turns: readonly Gatherer<PendingProduce>[]
  readonly #budget: ByteBudget
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(store: Store, clock: Clock, random: Random, meter: QueueMeter) {
    this.#store = store
    this.#meter = meter
    this.#partitions = partitionsOf(store)
    this.#clock = clock
    this.#random = random
    const { batchMax: entriesMax, batchBytesMax: bytesMax } = store.capabilities
    this.#limits = { entriesMax, bytesMax, sizeOf: ({ message }) => sizeOfMessage(message) }
    this.#budget = new ByteBudget(bytesMax * PARALLEL_BATCHES)
    this.#turns = this.#partitions.stores.map(
      (partition) =>
        new Gatherer<PendingProduce>({
          entriesMax,
          bytesMax,
          sizeOf: ({ draft }) => sizeOfMessage(draft.message),
          earlyAt: EARLY_AT,
          atTurnEnd: (run) => process.nextTick(run),
          send: (calls) => void this.#track(this.#send(partition, calls)),
        }),
    )
  }

  produce(draft: Draft): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#add({ draft, resolve, reject })
    })
  }

  /** The same, and tells what became of it. */
  produceOne(draft: Draft): Promise<Produced> {
    return new Promise((resolve, reject) => {
      this.#add({ draft, resolve: (id, outcome) => resolve({ id, outcome }), reject })
    })
  }

  /**
   * Resolves to the ids in order. Rejects if any was refused, or if the store did not answer for some: those are named. The
   * others are stored all the same.
   */
  async produceMany(drafts: readonly Draft[]): Promise<string[]> {
    const ids: string[] = []
    const refusals: UsageError[] = []
    for (const result of await this.produceEach(drafts))
      if (result instanceof UsageError) refusals.push(result)
      else ids.push(result.id)
    if (refusals[0] !== undefined) throw refusalSummary(refusals[0], refusals.length, drafts.length)
    return ids
  }

  /**
   * What became of each, in order: those that were refused do not keep the others from being stored. Rejects where the store
   * did not answer, naming those if it did for others.
   */
  async produceEach(drafts: readonly Draft[]): Promise<(Produced | UsageError)[]> {
    const answers: (Produced | UsageError)[] = []
    const failed: FailedBatch[] = []
    const work = placeDrafts(this.#partitions, drafts, this.#limits).map(
      (batches) => async (): Promise<void> => {
        for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
          try {
            const results = await this.#put(batch.store, batch.drafts)
            for (const [i, draft] of batch.drafts.entries()) {
              answers[batch.placeOf(i)] =
                results[i] === 'stored'
                  ? { id: draft.message.id, outcome: 'stored' }
                  : await this.#conclude(draft, results[i])
            }
          } catch (error) {
            // What waits behind it would wait in vain, one after the other.
            for (const { drafts: unsent } of [batch, ...batches.splice(0)])
              failed.push({ drafts: unsent, error })
          }
        }
      },
    )
    const workers = work.flatMap((one) => Array.from({ length: PARALLEL_BATCHES }, one))
    await this.#track(Promise.all(workers))
    if (failed[0] !== undefined) throw produceFailure(failed, drafts.length)
    return answers
  }

  #add(call: PendingProduce): void {
    this.#turns[this.#partitions.homeOf(call.draft.message.id)]?.add(call)
  }

  /** Resolves when everything handed over so far was answered. */
  async drain(): Promise<void> {
    for (const turn of this.#turns) turn.flush()
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }

  /** Never rejects: each caller hears of its own message. */
  async #send(partition: Store, calls: readonly PendingProduce[]): Promise<void> {
    try {
      const results = await this.#put(
        partition,
        calls.map(({ draft }) => draft),
      )
      const concluding: Promise<void>[] = []
      for (const [i, { draft, resolve, reject }] of calls.entries()) {
        const result = results[i]
        if (result === 'stored') resolve(draft.message.id, 'stored')
        else
          concluding.push(
            this.#conclude(draft, result).then(
              (answer) =>
                answer instanceof UsageError ? reject(answer) : resolve(answer.id, answer.outcome),
              reject,
            ),
          )
      }
      await Promise.all(concluding)
    } catch (error) {
      for (const { draft, reject } of calls) reject(singleFailure(error, draft.message.id))
    }
  }

  async #put(partition: Store, drafts: readonly Draft[]): Promise<PutResult[]> {
    const messages = drafts.map(({ message }) => message)
    const bytes = messages.reduce((sum, message) => sum + sizeOfMessage(message), 0)
    if (!this.#budget.take(bytes)) await this.#budget.waitFor(bytes)
    try {
      const results = await partition.put(messages)
      this.#meter.produced(messages, results)
      return results
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
      const id = draft.idPrefix + makeId(this.#clock.now(), this.#random.next(), this.#random.next())
      draft = { ...draft, message: { ...message, id } }
      const [result] = await this.#put(this.#store, [draft])
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
