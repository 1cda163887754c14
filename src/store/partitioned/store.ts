/**
 * Several stores as one: a queue whose messages are spread over partitions by their ids (`core/encoding/home`).
 *
 *   people ──► this store ──► all partitions, merged; a partition that is away is named
 *   runtime ──► partitions.stores ──► each for itself: its own claims, wake-ups, leases and clock
 *
 * What names ids goes to their homes, and is answered whole or rejects with the ids that are unknown. What looks at
 * everything is answered with what there is, and `missing`. A claim here asks one partition after the other: right, and
 * slower than a runtime that asks each for itself.
 */
import { homeOf } from '../../core/encoding/home.ts'
import { UnavailableError, UsageError } from '../../core/errors.ts'
import { worstFirst } from '../contract/findings.ts'
import { followUpsOf } from '../contract/sizes.ts'
import type * as contract from '../contract/store.ts'
import { admitEntries } from '../shared/admission.ts'
import { checkEdges } from '../shared/forecast.ts'
import * as keyless from '../shared/keyless.ts'
import { unsupported } from '../shared/unsupported.ts'
import { WORKERS_MAX } from '../shared/worker-list.ts'
import { askAll, askHomes, textOf, type PartitionAnswers } from './asking.ts'
import { TopicPages } from './topic-pages.ts'
import { Walking } from './walking.ts'
import { mergeClaims, mergeControls, mergeCounts, mergeForecasts, mergeWorkers } from './merging.ts'

export class PartitionedStore implements contract.Store {
  readonly capabilities: contract.Capabilities
  readonly keys = keyless.absent(() => this.capabilities)
  readonly partitions: contract.Partitions
  readonly #stores: readonly contract.Store[]
  readonly #topics: TopicPages
  readonly #walking: Walking
  /** Where the next claim begins. */
  #turn = 0
  #figuresAt = 0

  /** All of one engine, and at least one. */
  constructor(stores: readonly contract.Store[]) {
    const [first] = stores
    if (first === undefined) throw new UsageError('OPTION_INVALID', 'a store has at least one partition.')
    this.#stores = stores
    this.#topics = new TopicPages(stores, (failed) => this.#gap(failed))
    this.#walking = new Walking(stores, (partition) => this.#name(partition))
    this.partitions = { stores, homeOf: (id) => homeOf(id, stores.length) }
    const features = first.capabilities.features.filter((feature) => feature === 'controls')
    this.capabilities = { ...first.capabilities, features }
  }

  /** A partition that is away is opened by the first call that needs it. Rejects when none can be opened. */
  async open(): Promise<void> {
    const { failed } = await askAll(this.#stores, (store) => store.open())
    if (failed.length === this.#stores.length) throw failed[0]?.error
  }

  async close(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()))
  }

  async put(messages: readonly contract.NewMessage[]): Promise<contract.PutResult[]> {
    keyless.messages(this.capabilities, messages)
    return this.#atHome(messages, (store, its) => store.put(its))
  }

  /** One partition after the other, beginning with another one each time, until there is enough. */
  async claim(request: contract.ClaimRequest): Promise<contract.ClaimReply> {
    const replies: contract.ClaimReply[] = []
    let failure: { readonly error: unknown } | undefined
    const from = this.#takeTurn()
    let asked = 0
    for (; asked < this.#stores.length; asked += 1) {
      const wanted = restOf(request, replies)
      if (wanted === undefined) break
      try {
        replies.push(await this.#store(from + asked).claim(wanted))
      } catch (error) {
        failure ??= { error }
      }
    }
    const merged = mergeClaims(replies, asked === this.#stores.length)
    // What was handed out must reach its asker, whichever partition failed.
    if (failure !== undefined && merged.leases.length === 0) throw failure.error
    return merged
  }

  extend(leases: readonly contract.LeaseRef[], leaseMs: number): Promise<contract.ExtendResult[]> {
    return this.#atHome(leases, (store, its) => store.extend(its, leaseMs))
  }

  /** What carries a message that lives elsewhere cannot be stored in one step with it, and is refused. */
  async settle(settlements: readonly contract.Settlement[]): Promise<contract.SettleResult[]> {
    keyless.settlements(this.capabilities, settlements)
    const { homeOf: home } = this.partitions
    const isWhole = (one: contract.Settlement): boolean =>
      followUpsOf(one).every(({ id }) => home(id) === home(one.id))
    const storable = settlements.filter(isWhole)
    const results = (await this.#atHome(storable, (store, its) => store.settle(its))).values()
    return settlements.map((one) => (isWhole(one) ? (results.next().value ?? 'lost') : 'refused'))
  }

  owned(owner: string, cursor?: string): Promise<contract.OwnedPage> {
    return this.#walking.page(cursor, (store, inner) => store.owned(owner, inner))
  }

  async leave(owner: string): Promise<void> {
    await this.#everywhere((store) => store.leave(owner), 'the worker could not say goodbye')
  }

  /** To one of them, the same for all workers; to the next one after a failure. */
  async record(figures: readonly contract.TopicFigures[]): Promise<void> {
    try {
      await this.#store(this.#figuresAt).record(figures)
    } catch (error) {
      this.#figuresAt = (this.#figuresAt + 1) % this.#stores.length
      throw error
    }
  }

  remove(
    ids: readonly string[],
    from: 'waiting' | 'dead',
    options?: contract.RemoveOptions,
  ): Promise<contract.RemoveResult[]> {
    return this.#byId(ids, (store, its) => store.remove(its, from, options))
  }

  reschedule(moves: readonly contract.Move[]): Promise<contract.RescheduleResult[]> {
    return this.#atHome(moves, (store, its) => store.reschedule(its))
  }

  revive(ids: readonly string[]): Promise<contract.ReviveResult[]> {
    return this.#byId(ids, (store, its) => store.revive(its))
  }

  async inspect(query: contract.InspectQuery): Promise<contract.Page> {
    if ('ids' in query) {
      const { ids } = query
      // Not in the answer means not there: so all of them must have answered.
      const found = await this.#byId(ids, async (store, its) => {
        const { items } = await store.inspect({ ids: its })
        const byId = new Map(items.map((item) => [item.id, item]))
        return its.map((id) => byId.get(id))
      })
      return { items: found.filter((item) => item !== undefined), scanned: ids.length }
    }
    admitEntries(query.limit, this.capabilities.batchMax)
    return this.#walking.list(query)
  }

  async count(): Promise<contract.Counts> {
    const { given, gap } = await this.#ask((store) => store.count())
    return { ...mergeCounts(given), ...gap }
  }

  countTopics(query: contract.TopicsQuery): Promise<contract.TopicsPage> {
    return this.#topics.count(query)
  }

  async forecast(query: contract.ForecastQuery): Promise<contract.Forecast> {
    checkEdges(query.edges)
    const { given, gap } = await this.#ask((store) => store.forecast(query))
    return { ...mergeForecasts(query.edges.length - 1, given), ...gap }
  }

  figures(query: contract.FiguresQuery): Promise<contract.FiguresPage> {
    const { cursor, ...about } = query
    return this.#walking.pageOrGap<contract.FiguresPage>(cursor, { rows: [] }, (store, inner) =>
      store.figures({ ...about, ...(inner === undefined ? {} : { cursor: inner }) }),
    )
  }

  async workers(): Promise<contract.WorkersReply> {
    const { given, gap } = await this.#ask((store) => store.workers())
    return { ...mergeWorkers(given, WORKERS_MAX), ...gap }
  }

  /** A limit holds over all partitions or not at all, and no script reaches two of them. */
  async control(change: contract.ControlChange): Promise<void> {
    const isLimit = change.kind === 'limit' || (change.kind === 'resume' && change.over !== undefined)
    if (isLimit)
      return unsupported(
        this.capabilities.engine,
        'limits',
        'a queue that is spread over partitions can be paused and resumed; for a limit, keep that topic in a queue of its own',
      )
    await this.#everywhere((store) => store.control(change), `the ${change.kind} does not hold everywhere`)
  }

  async controls(): Promise<contract.ControlsReply> {
    const { given, gap } = await this.#ask((store) => store.controls())
    return { now: given[0]?.now ?? 0, controls: mergeControls(given.map(({ controls }) => controls)), ...gap }
  }

  async doctor(): Promise<contract.Finding[]> {
    const { given, failed } = await askAll(this.#stores, (store) => store.doctor())
    const away = failed.map(({ partition, error }): contract.Finding => ({
      level: 'problem',
      what: `${this.#name(partition)} does not answer: ${textOf(error)}`,
      remedy: 'its messages wait until it is back; look at its server',
    }))
    return worstFirst([...away, ...given.flat()])
  }

  join(): Promise<never> {
    return unsupported(
      this.capabilities.engine,
      'transactions',
      'a transaction does not reach over partitions',
    )
  }

  /** A partition that is away is no gap here: what is not seen would be taken for gone. */
  remembered({ limit, cursor }: contract.RememberedQuery): Promise<contract.Page> {
    return this.#walking.page(cursor, (store, inner) =>
      store.remembered({ limit, ...(inner === undefined ? {} : { cursor: inner }) }),
    )
  }

  async restore(messages: readonly contract.RestoredMessage[]): Promise<contract.RestoreResult[]> {
    keyless.messages(this.capabilities, messages)
    return this.#atHome(messages, (store, its) => store.restore(its))
  }

  backup(): Promise<never> {
    return unsupported(this.capabilities.engine, 'backup', 'use the tools of its servers')
  }

  onWake(listener: (wake: contract.WakeUp) => void, owner?: string): () => void {
    const ends = this.#stores.map((store) => store.onWake(listener, owner))
    return () => {
      for (const end of ends) end()
    }
  }

  #store(turn: number): contract.Store {
    return this.#stores[turn % this.#stores.length] as contract.Store
  }

  #takeTurn(): number {
    this.#turn = (this.#turn + 1) % this.#stores.length
    return this.#turn
  }

  #atHome<E extends { readonly id: string }, R>(
    entries: readonly E[],
    ask: (store: contract.Store, entries: readonly E[]) => Promise<readonly R[]>,
  ): Promise<R[]> {
    return this.#homes(entries, ({ id }) => id, ask)
  }

  #byId<R>(
    ids: readonly string[],
    ask: (store: contract.Store, ids: readonly string[]) => Promise<readonly R[]>,
  ): Promise<R[]> {
    return this.#homes(ids, (id) => id, ask)
  }

  async #homes<E, R>(
    entries: readonly E[],
    idOf: (entry: E) => string,
    ask: (store: contract.Store, entries: readonly E[]) => Promise<readonly R[]>,
  ): Promise<R[]> {
    admitEntries(entries.length, this.capabilities.batchMax)
    return askHomes(
      entries,
      (entry) => this.partitions.homeOf(idOf(entry)),
      (partition, its) => ask(this.#store(partition), its),
      idOf,
    )
  }

  async #ask<T>(
    ask: (store: contract.Store) => Promise<T>,
  ): Promise<{ readonly given: readonly T[]; readonly gap: contract.Gap }> {
    const { given, failed } = await askAll(this.#stores, ask)
    if (given.length === 0) throw failed[0]?.error
    return { given, gap: this.#gap(failed) }
  }

  /** Rejects naming those that were not reached; the others have done it. */
  async #everywhere(ask: (store: contract.Store) => Promise<void>, what: string): Promise<void> {
    const { given, failed } = await askAll(this.#stores, ask)
    const [first] = failed
    if (first === undefined) return
    if (given.length === 0) throw first.error
    const names = failed.map(({ partition }) => this.#name(partition))
    throw new UnavailableError(
      'STORE_PARTIAL',
      `${what}: ${names.join(', ')} did not answer, the other ${given.length} did it. Try again. ${textOf(first.error)}`,
      { value: names, cause: first.error },
    )
  }

  #gap(failed: PartitionAnswers<unknown>['failed']): contract.Gap {
    return failed.length === 0 ? {} : { missing: failed.map(({ partition }) => this.#name(partition)) }
  }

  #name(partition: number): string {
    return `partition ${partition + 1} of ${this.#stores.length}`
  }
}

/** What is still wanted of this claim; undefined where that is nothing. */
function restOf(
  request: contract.ClaimRequest,
  replies: readonly contract.ClaimReply[],
): contract.ClaimRequest | undefined {
  const leases = replies.flatMap((reply) => reply.leases)
  if (leases.length === 0) return request
  const limit = request.limit - leases.length
  if (limit <= 0) return undefined
  if (request.from === 'lapsed') return { ...request, limit }
  const bytesMax = request.bytesMax - leases.reduce((sum, { body }) => sum + body.length, 0)
  const wants = request.wants.flatMap((want) => {
    const left = want.limit - leases.filter(({ topic }) => topic === want.topic).length
    return left > 0 ? [{ ...want, limit: left }] : []
  })
  return bytesMax <= 0 || wants.length === 0 ? undefined : { ...request, wants, limit, bytesMax }
}
