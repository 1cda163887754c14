/**
 * Hands new messages to the store. Calls made in the same turn of the event loop share one `put`; a lone call waits
 * for nobody. Batches are cut by bytes too, and only so many bytes are on their way at once: what is too much for one
 * call, or for the time that the store has for a call, waits here.
 *
 * A generated id that turns out to be taken by another message is drawn again: 54 bits of chance per millisecond
 * make that rare, and this makes it harmless.
 *
 * Of a queue with several partitions each has its own calls: a batch that fails takes none of another partition with it.
 */
import type { Clock } from '../clock.ts'
import { assertNever, InvariantError, isUnavailable, UnavailableError, UsageError } from '../core/errors.ts'
import { makeId } from '../core/encoding/id.ts'
import type { IfExists } from '../core/input/request.ts'
import { cutBatches, Turn, type BatchLimits } from '../core/turn.ts'
import type { Random } from '../random.ts'
import { partitionsOf } from '../store/contract/partitions.ts'
import { sizeOfMessage } from '../store/contract/sizes.ts'
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
  readonly #meter: QueueMeter
  readonly #limits: BatchLimits<Draft>
  readonly #partitions: Partitions
  /** One for each partition. */
  readonly #turns: readonly Turn<PendingProduce>[]
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
        new Turn<PendingProduce>({
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
    if (refusals[0] !== undefined) throw summary(refusals[0], refusals.length, drafts.length)
    return ids
  }

  /**
   * What became of each, in order: those that were refused do not keep the others from being stored. Rejects where the store
   * did not answer, naming those if it did for others.
   */
  async produceEach(drafts: readonly Draft[]): Promise<(Produced | UsageError)[]> {
    const answers: (Produced | UsageError)[] = []
    const failed: FailedBatch[] = []
    const work = this.#batches(drafts).map((batches) => async (): Promise<void> => {
      for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
        try {
          const results = await this.#put(batch.store, batch.drafts)
          for (const [i, draft] of batch.drafts.entries()) {
            answers[batch.places?.[i] ?? batch.from + i] =
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
    })
    const workers = work.flatMap((one) => Array.from({ length: PARALLEL_BATCHES }, one))
    await this.#track(Promise.all(workers))
    if (failed[0] !== undefined) throw failure(failed, drafts.length)
    return answers
  }

  #add(call: PendingProduce): void {
    this.#turns[this.#partitions.homeOf(call.draft.message.id)]?.add(call)
  }

  /** In order, for each partition. */
  #batches(drafts: readonly Draft[]): ProduceBatch[][] {
    if (drafts.length === 0) return []
    const { homeOf, stores } = this.#partitions
    const [only] = stores
    if (stores.length === 1 && only !== undefined) return [this.#cut(only, drafts)]
    const places = stores.map((): number[] => [])
    for (const [i, { message }] of drafts.entries()) places[homeOf(message.id)]?.push(i)
    return stores.map((store, partition) => {
      const its = places[partition] ?? []
      if (its.length === 0) return []
      const cut = this.#cut(
        store,
        its.map((place) => drafts[place] as Draft),
      )
      return cut.map((batch) => ({ ...batch, places: its.slice(batch.from) }))
    })
  }

  #cut(store: Store, drafts: readonly Draft[]): ProduceBatch[] {
    let from = 0
    return cutBatches(drafts, this.#limits).map((batch) => {
      from += batch.length
      return { store, drafts: batch, from: from - batch.length }
    })
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
      for (const { reject } of calls) reject(error)
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

type ProduceBatch = {
  readonly store: Store
  readonly drafts: readonly Draft[]
  /** Where the first of them stands among all, or in `places`: where each of them does. */
  readonly from: number
  readonly places?: readonly number[]
}

type FailedBatch = { readonly drafts: readonly Draft[]; readonly error: unknown }

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

const IDS_SHOWN = 5

/** A failure of all is told as it is; of some, with the ids about which nothing is known. */
function failure(failed: readonly FailedBatch[], total: number): unknown {
  const ids = failed.flatMap(({ drafts }) => drafts.map(({ message }) => message.id))
  const lasting = failed.find(({ error }) => !isUnavailable(error))
  const cause = (lasting ?? failed[0])?.error
  if (lasting !== undefined || ids.length === total) return cause
  const shown = ids.slice(0, IDS_SHOWN).map((id) => `"${id}"`)
  const list = ids.length > IDS_SHOWN ? `${shown.join(', ')} and others` : shown.join(', ')
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new UnavailableError(
    'STORE_PARTIAL',
    `for ${ids.length} of ${total} messages the store did not answer (${list}), the other ${total - ids.length} are stored; produce these again, with the ids in "value". ${reason}`,
    { value: ids, cause },
  )
}

function summary(first: UsageError, refused: number, total: number): UsageError {
  if (total === 1) return first
  const others = `${refused} of ${total} refused, the other ${total - refused} are stored`
  return new UsageError(first.code, `${first.message} (${others}.)`, { value: first.value, cause: first })
}
