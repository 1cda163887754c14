/**
 * Messages that belong to a transaction of the user's own: stored, cancelled or moved with its commit, or not at all. For
 * engines that keep messages in the user's SQL database; others refuse with UNSUPPORTED.
 */
import { UsageError, InvariantError } from '../../core/errors.ts'
import { checkRecord } from '../../core/input/checks.ts'
import type { CancelOptions, Filter, FilterOptions } from '../../core/input/filter.ts'
import { parseReschedule, type ProduceOptions, type RescheduleOptions } from '../../core/input/request.ts'
import type { TopicSchemas } from '../../core/input/schema.ts'
import { parseTransaction, type SendStatement, type TransactionHandle } from '../../core/input/transaction.ts'
import { checkId } from '../../core/input/names.ts'
import { spreadOut } from '../../core/spread.ts'
import type { ProduceArguments } from '../../runtime/handler.ts'
import type { Draft } from '../../runtime/producer.ts'
import type { JoinedVerbs, PutResult, RescheduleResult, Store } from '../../store/contract/store.ts'
import { makeDrafts } from '../draft.ts'
import type { CancelCounts, CancelResult, RescheduleCounts } from './filtering.ts'
import { Queue } from '../queue.ts'
import type { Settings } from '../settings.ts'
import type { AnyTopics, NoSchemas, PayloadIn, ProduceEntry, TopicName } from '../topics.ts'

/** What `produce`, `produceMany`, `cancel` and `reschedule` take besides. */
export type TransactionOption = {
  /** SQL engines only: your own transaction, which this call joins. */
  transaction?: TransactionHandle
}

/** The calls of a queue that join a transaction: what `queue.transaction` hands to its function. */
export type InTransaction<T extends object = AnyTopics, S extends TopicSchemas = NoSchemas> = Pick<
  TransactingQueue<T, S>,
  'produce' | 'produceMany'
> & {
  cancel(id: string): Promise<CancelResult>
  reschedule(id: string, when: RescheduleOptions): Promise<RescheduleResult>
}

/** A queue whose calls may join a transaction. */
export class TransactingQueue<T extends object = AnyTopics, S extends TopicSchemas = NoSchemas> extends Queue<
  T,
  S
> {
  readonly #settings: Settings

  constructor(settings: Settings, makeStore: () => Promise<Store>) {
    super(settings, makeStore)
    this.#settings = settings
  }

  /** Stores a message until its moment; resolves to its id once the store has it safe, or once your transaction has it. */
  override produce<K extends TopicName<T, S>>(
    topic: K,
    ...[payload, options]: ProduceArguments<PayloadIn<T, S, K>, ProduceOptions & TransactionOption>
  ): Promise<string> {
    if (options?.transaction === undefined)
      return super.produce(
        topic,
        ...([payload, options] as ProduceArguments<PayloadIn<T, S, K>, ProduceOptions>),
      )
    const { transaction, ...rest } = options
    return this.#produce([{ ...rest, topic, payload }], transaction).then(([id = '']) => id)
  }

  /**
   * Many at once: all are checked before any is stored. Should some be refused by their `ifExists`, the call rejects
   * and the others are stored.
   */
  override produceMany<K extends TopicName<T, S>>(
    entries: readonly { [Topic in K]: ProduceEntry<Topic, PayloadIn<T, S, Topic>> }[K][],
    options?: TransactionOption,
  ): Promise<string[]> {
    const transaction = transactionOf(options)
    return transaction === undefined ? super.produceMany(entries) : this.#produce(entries, transaction)
  }

  /** Takes a message back before it starts. */
  override cancel(id: string, options?: TransactionOption & CancelOptions): Promise<CancelResult>
  /** Takes back all that fit; those that run go on, and are counted. */
  override cancel(filter: Filter, options?: FilterOptions): Promise<CancelCounts>
  override cancel(
    which: string | Filter,
    options?: TransactionOption & CancelOptions & FilterOptions,
  ): Promise<CancelResult | CancelCounts> {
    if (typeof which !== 'string') return super.cancel(which, options)
    return options?.transaction === undefined ? super.cancel(which, options) : this.#cancel(which, options)
  }

  /** Moves a message that has not started to another moment. */
  override reschedule(id: string, when: RescheduleOptions & TransactionOption): Promise<RescheduleResult>
  /** Moves all that fit; those that run stay, and are counted. */
  override reschedule(
    filter: Filter,
    when: RescheduleOptions,
    options?: FilterOptions,
  ): Promise<RescheduleCounts>
  override reschedule(
    which: string | Filter,
    when: RescheduleOptions & TransactionOption,
    options?: FilterOptions,
  ): Promise<RescheduleResult | RescheduleCounts> {
    if (typeof which !== 'string') return super.reschedule(which, when, options)
    const { transaction, ...rest } = when ?? {}
    return transaction === undefined
      ? super.reschedule(which, when)
      : this.#reschedule(which, rest, transaction)
  }

  /**
   * Begins a transaction on a connection of yours, commits it when `work` is done, rolls it back when `work` throws. What
   * is produced, cancelled or moved through the value that `work` gets belongs to it. A connection on which a transaction is
   * open already is refused with TRANSACTION_OPEN, where the server can tell.
   */
  async transaction<R>(
    connection: TransactionHandle,
    work: (queue: InTransaction<T, S>) => Promise<R>,
  ): Promise<R> {
    const send = parseTransaction(connection)
    const joined = await this.#join(connection) // Refuses an engine that cannot, before anything begins.
    if (begunOn.has(connection)) throw transactionOpen()
    begunOn.add(connection)
    hearErrors(connection)
    try {
      // A second "begin" would end with our commit, or our rollback, what the first one began.
      if (await joined.isOpen()) throw transactionOpen()
      await send('begin', [])
      const result = await commitAfter(send, () => work(this.#bound(connection)))
      joined.committed?.()
      return result
    } finally {
      begunOn.delete(connection)
    }
  }

  async #cancel(id: string, options: TransactionOption): Promise<CancelResult> {
    const transaction = transactionOf(options)
    const checked = checkId(id)
    if (transaction === undefined) return super.cancel(checked)
    const [result] = await (await this.#join(transaction)).remove([checked])
    return result === 'removed' ? 'cancelled' : (result ?? 'missing')
  }

  async #reschedule(
    id: string,
    when: RescheduleOptions,
    transaction: TransactionHandle,
  ): Promise<RescheduleResult> {
    const checked = checkId(id)
    const { clock, windows } = this.#settings
    const moment = parseReschedule(when, { now: clock.now(), book: windows })
    const move = { id: checked, when: spreadOut(moment.when, checked, moment.spreadMs) }
    const [result] = await (await this.#join(transaction)).reschedule([move])
    return result ?? 'missing'
  }

  #bound(transaction: TransactionHandle): InTransaction<T, S> {
    return {
      produce: <K extends TopicName<T, S>>(
        topic: K,
        ...[payload, options]: ProduceArguments<PayloadIn<T, S, K>, ProduceOptions & TransactionOption>
      ) => this.#produce([{ ...options, topic, payload }], transaction).then(([id = '']) => id),
      produceMany: (entries) => this.produceMany(entries, { transaction }),
      cancel: (id) => this.cancel(id, { transaction }),
      reschedule: (id, when) => this.reschedule(id, { ...when, transaction }),
    }
  }

  async #produce(
    entries: readonly { readonly topic: string; readonly payload?: unknown }[],
    transaction: TransactionHandle,
  ): Promise<string[]> {
    parseTransaction(transaction)
    const drafts = await makeDrafts(this.#settings, entries)
    const joined = await this.#join(transaction)
    const { batchMax } = joined.capabilities
    const ids: string[] = []
    for (let from = 0; from < drafts.length; from += batchMax) {
      const batch = drafts.slice(from, from + batchMax)
      const results = await joined.put(batch.map(({ message }) => message))
      ids.push(...batch.map((draft, i) => idOf(draft, results[i])))
    }
    return ids
  }

  async #join(transaction: TransactionHandle): Promise<JoinedVerbs> {
    parseTransaction(transaction)
    return (await this.openStore()).join(transaction)
  }
}

/**
 * Where a `queue.transaction` of this process is under way. Two that begin at the same moment on one connection would both
 * find it free, and not every server tells whether it is.
 */
const begunOn = new WeakSet<TransactionHandle>()

/** Those whose `error` events are heard: for good, because a connection may tell after its last statement has failed. */
const heardOf = new WeakSet<TransactionHandle>()

/** When a connection breaks, its statements reject; an `error` event without a listener would end the process besides. */
function hearErrors(connection: TransactionHandle): void {
  if (heardOf.has(connection) || !('on' in connection) || typeof connection.on !== 'function') return
  connection.on('error', () => undefined)
  heardOf.add(connection)
}

async function commitAfter<R>(send: SendStatement, work: () => Promise<R>): Promise<R> {
  try {
    const result = await work()
    await send('commit', [])
    return result
  } catch (error) {
    await Promise.resolve(send('rollback', [])).catch(() => undefined) // The first error is the one to tell.
    throw error
  }
}

/** Before anything was begun. */
function transactionOpen(): UsageError {
  return new UsageError(
    'TRANSACTION_OPEN',
    'a transaction is open already on the connection that was given to queue.transaction, which begins and commits one of its own; inside of yours use produce(…, { transaction: connection }), or give another connection.',
  )
}

function transactionOf(options: unknown): TransactionHandle | undefined {
  if (options === undefined) return undefined
  return checkRecord(options, 'options', ['transaction']).transaction as TransactionHandle | undefined
}

/** Nothing of the user's transaction is lost by an error from here: the server has accepted the statement. */
function idOf({ message: { id }, ifExists, hasOwnId }: Draft, result: PutResult | undefined): string {
  if (result === 'duplicate' && ifExists === 'fail')
    throw new UsageError(
      'ID_EXISTS',
      `a message with id "${id}" exists; use another id, or ifExists "keep" or "replace".`,
      { value: id },
    )
  if (result === undefined || (result === 'duplicate' && !hasOwnId))
    throw new InvariantError(`the generated id "${id}" exists already; "random" is not random.`)
  return id
}
