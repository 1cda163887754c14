/**
 * The PostgreSQL engine: each verb is one SQL function, called in one statement, so that it is atomic and takes one round
 * trip. Nothing is kept here but connections: one for claims and extensions, so that no flush to disk stands before them;
 * one for everything else; one that hears wake-ups. A producer has only the second. All times and all state are the
 * server's; any number of processes may do the same.
 *
 * What lives where: `sql/tables`. What people ask is in `looking.ts`.
 */
import { createHash } from 'node:crypto'
import { parseTransaction, type TransactionHandle } from '../../core/input/transaction.ts'
import { worstFirst } from '../contract/findings.ts'
import { followUpsOf } from '../contract/sizes.ts'
import type * as contract from '../contract/store.ts'
import type { StoreContext } from '../engine.ts'
import { needsNewerWorkers, type MarkingMessage } from '../shared/newer-workers.ts'
import { unsupported } from '../shared/unsupported.ts'
import { controlsReply } from '../sql/controlling.ts'
import { Floors } from '../sql/floors.ts'
import { controlsOf } from '../sql/gating.ts'
import { toMicros } from '../sql/micros.ts'
import { QueueNumber } from '../sql/queue-number.ts'
import { needsMigration, unmigrated } from '../sql/server/migrating.ts'
import { restoredColumns } from '../sql/restored.ts'
import { makeToken } from '../sql/tokens.ts'
import { SqlWakeups } from '../sql/wakeups/wakeups.ts'
import { FunctionCalls } from './calls.ts'
import { readControls, setControl } from './controlling.ts'
import { examine } from './doctor.ts'
import { PostgresJoined } from './joined.ts'
import { Leasing } from './leasing.ts'
import { PostgresListener } from './link/listener.ts'
import { PostgresLink } from './link/postgres-link.ts'
import { PostgresLooking } from './looking.ts'
import { migrate, readSchema, tablesOf } from './migration.ts'
import type { Consent } from '../shared/suited.ts'
import { assertStandbys, unreplicated } from './replication.ts'
import { Upkeep } from './upkeep.ts'
import { figureColumns, keyColumn, moveColumns, putColumns, type Answered, type RingReply } from './wire.ts'

const BATCH_MAX = 1000
const BATCH_BYTES_MAX = 8 * 1024 * 1024
/** A round trip in a data centre takes well under a millisecond; a busy event loop or server takes a few. */
const LEAD_MS = 10
export type PostgresStoreOptions = {
  readonly urls: readonly string[]
  /** Where to listen; none: no session can. */
  readonly listenUrls: readonly string[]
  readonly allowed: readonly Consent[]
  readonly server: string
  readonly schema: string
  readonly isPooled: boolean
  readonly isReplicated: boolean
  readonly mayMigrate: boolean
  readonly connectTimeoutMs: number
  readonly callTimeoutMs: number
  /** Tests only. */
  readonly now?: () => number
}

export class PostgresStore implements contract.Store {
  readonly capabilities: contract.Capabilities

  readonly #context: StoreContext
  readonly #options: PostgresStoreOptions
  readonly #claimsLink: PostgresLink
  readonly #writesLink: PostgresLink
  readonly #writes: FunctionCalls
  readonly #leasing: Leasing
  readonly #looking: PostgresLooking
  readonly #wakeups: SqlWakeups
  readonly #upkeep: Upkeep
  readonly #floors = new Floors()
  readonly #channel: string
  readonly #queue: QueueNumber
  #areKeysMarked = false

  constructor(context: StoreContext, options: PostgresStoreOptions) {
    this.#context = context
    this.#options = options
    const { queue, clock, random, logger } = context
    const { schema, server } = options
    this.capabilities = {
      engine: 'postgres',
      durability: options.isReplicated ? 'replicas' : 'server',
      shared: true,
      wakes: 'hint',
      batchMax: BATCH_MAX,
      batchBytesMax: BATCH_BYTES_MAX,
      wantsMax: BATCH_MAX,
      leadMs: LEAD_MS,
      features: ['controls', 'limits', 'transactions', 'keys'],
    }
    const shared = { ...options, clock, random, logger }
    const name = `punctual:${queue}`.slice(0, 50)
    this.#writesLink = new PostgresLink({
      ...shared,
      name,
      ...(options.isReplicated ? { expired: unreplicated } : {}),
    })
    this.#claimsLink = new PostgresLink({ ...shared, name: `${name}:claims`, detour: this.#writesLink })
    const calls = { schema, server, clock, random, isPrepared: !options.isPooled }
    this.#writes = new FunctionCalls(this.#writesLink, calls)
    this.#leasing = new Leasing({
      context,
      claims: new FunctionCalls(this.#claimsLink, calls),
      writes: this.#writes,
      floors: this.#floors,
      now: options.now,
      wrote: (reply, ended) => this.#wrote(reply, ended),
    })
    this.#queue = new QueueNumber(
      () => this.#findQueue(),
      async () => (await this.#writes.one<{ queue_1: number }>('queue_1', [queue])).queue_1,
    )
    this.#looking = new PostgresLooking({
      calls: this.#writes,
      queue: () => this.#queue.known(),
      at: () => this.#at(),
    })
    this.#upkeep = new Upkeep({ ...shared, calls: this.#writes })
    this.#channel = channelOf(schema, queue)
    const listening = {
      ...shared,
      urls: options.listenUrls,
      isDeaf: options.listenUrls.length === 0,
      name: `${name}:wakeups`,
      channel: this.#channel,
      echoChannel: `${this.#channel}_${makeToken(random)}`.slice(0, 63),
      writes: this.#writesLink,
    }
    this.#wakeups = new SqlWakeups({
      listen: (heardRing) => new PostgresListener({ ...listening, heardRing }),
      lower: (ring) => (ring === undefined ? this.#floors.reset() : this.#floors.lower(ring.at, ring.topics)),
    })
  }

  /** Rejects when the server cannot be reached in time; it goes on trying, and may be called again. */
  async open(): Promise<void> {
    const { schema, mayMigrate, server } = this.#options
    const state = await readSchema(schema, (query) => this.#writesLink.call(query))
    const tables = tablesOf(schema, server)
    if (needsMigration(state, tables)) {
      if (!mayMigrate) throw unmigrated(state, tables)
      await migrate({ ...this.#options, logger: this.#context.logger })
    }
    if (this.#options.isReplicated) await assertStandbys(server, (query) => this.#writesLink.call(query))
  }

  async close(): Promise<void> {
    this.#upkeep.close()
    this.#wakeups.close()
    this.#claimsLink.close()
    this.#writesLink.close()
  }

  async put(messages: readonly contract.NewMessage[]): Promise<contract.PutResult[]> {
    await this.#markKeys(messages)
    const keys = keyColumn(messages)
    const values = [await this.#queue.own(), this.#at(), ...putColumns(messages), false, null, keys]
    return this.#answered('put_1', values)
  }

  async remove(
    ids: readonly string[],
    from: 'waiting' | 'dead',
    { isRunningToo = false }: contract.RemoveOptions = {},
  ): Promise<contract.RemoveResult[]> {
    const queue = await this.#queue.known()
    const values = [queue, this.#at(), ids, from === 'waiting' ? 0 : 2, false, isRunningToo]
    const { remove_1: answers } = await this.#writes.one<{ remove_1: contract.RemoveResult[] }>(
      'remove_1',
      values,
    )
    this.#upkeep.wrote(ids.length)
    if (answers.includes('cancelling'))
      this.#wakeups.ring({ at: undefined, giver: ' cancelling', topics: [] })
    return answers
  }

  async reschedule(moves: readonly contract.Move[]): Promise<contract.RescheduleResult[]> {
    const queue = await this.#queue.known()
    const values = [queue, this.#at(), ...moveColumns(moves), false, null]
    return this.#answered('reschedule_1', values)
  }

  async revive(ids: readonly string[]): Promise<contract.ReviveResult[]> {
    const queue = await this.#queue.known()
    return this.#answered('revive_1', [queue, this.#at(), ids])
  }

  async control(change: contract.ControlChange): Promise<void> {
    await setControl(this.#writes, await this.#queue.own(), this.#at(), change)
    this.#wakeups.ring({ at: undefined, giver: ' controls', topics: [] })
  }

  async controls(): Promise<contract.ControlsReply> {
    return controlsReply(await readControls(this.#writes, await this.#queue.known(), this.#at()))
  }

  async keys(query: contract.KeysQuery): Promise<contract.KeysPage> {
    const row = await readControls(this.#writes, await this.#queue.known(), this.#at())
    return this.#looking.keys(query, controlsOf(row).get(query.topic)?.limit.perKey)
  }

  async join(transaction: TransactionHandle): Promise<contract.JoinedVerbs> {
    const send = parseTransaction(transaction)
    // Outside of the user's transaction: a new queue must not keep others waiting until it ends.
    const queue = await this.#queue.own()
    const { schema } = this.#options
    return new PostgresJoined(send, {
      schema,
      queue,
      channel: this.#channel,
      capabilities: this.capabilities,
      markKeys: (messages) => this.#markKeys(messages),
    })
  }

  async claim(request: contract.ClaimRequest): Promise<contract.ClaimReply> {
    if (request.from === 'due') this.#wakeups.note(request.owner, request.wants)
    return this.#leasing.claim(await this.#queue.own(), request)
  }

  async extend(leases: readonly contract.LeaseRef[], leaseMs: number): Promise<contract.ExtendResult[]> {
    const queue = await this.#queue.known()
    return this.#leasing.extend(queue, leases, leaseMs)
  }

  async settle(settlements: readonly contract.Settlement[]): Promise<contract.SettleResult[]> {
    await this.#markKeys(settlements.flatMap(followUpsOf))
    return this.#leasing.settle(await this.#queue.known(), settlements)
  }

  async owned(owner: string, cursor?: string): Promise<contract.OwnedPage> {
    return this.#leasing.owned(await this.#queue.known(), owner, cursor)
  }

  async leave(owner: string): Promise<void> {
    this.#wakeups.forget(owner)
    this.#leasing.forget(owner)
    await this.#writes.run('leave_1', [await this.#queue.known(), this.#at(), owner])
  }

  async record(figures: readonly contract.TopicFigures[]): Promise<void> {
    await this.#writes.run('record_1', [await this.#queue.own(), this.#at(), ...figureColumns(figures)])
  }

  inspect(query: contract.InspectQuery): Promise<contract.Page> {
    return this.#looking.inspect(query)
  }

  count(): Promise<contract.Counts> {
    return this.#looking.count()
  }

  countTopics(query: contract.TopicsQuery): Promise<contract.TopicsPage> {
    return this.#looking.countTopics(query)
  }

  forecast(query: contract.ForecastQuery): Promise<contract.Forecast> {
    return this.#looking.forecast(query)
  }

  figures(query: contract.FiguresQuery): Promise<contract.FiguresPage> {
    return this.#looking.figures(query)
  }

  workers(): Promise<contract.WorkersReply> {
    return this.#looking.workers()
  }

  remembered(query: contract.RememberedQuery): Promise<contract.Page> {
    return this.#looking.remembered(query)
  }

  async restore(messages: readonly contract.RestoredMessage[]): Promise<contract.RestoreResult[]> {
    await this.#markKeys(messages)
    const columns = [...restoredColumns(messages), keyColumn(messages)]
    return this.#answered('restore_1', [await this.#queue.own(), this.#at(), ...columns])
  }

  backup(): Promise<never> {
    return unsupported('postgres', 'backup', 'use the tools of its server: pg_dump, pg_basebackup')
  }

  async doctor(): Promise<contract.Finding[]> {
    const { schema, server, isPooled, isReplicated } = this.#options
    const query = (text: string): Promise<unknown> => this.#writesLink.call({ text })
    const { clock } = this.#context
    return worstFirst(
      await examine({ query, clock, schema, server, isPooled, isReplicated, hearing: this.#wakeups.hearing }),
    )
  }

  onWake(listener: (wake: contract.WakeUp) => void, owner?: string): () => void {
    return this.#wakeups.listen(listener, owner)
  }

  /** From the first message with a key or a window on, processes that know none are kept from opening these tables. */
  async #markKeys(messages: readonly MarkingMessage[]): Promise<void> {
    if (this.#areKeysMarked || !messages.some(needsNewerWorkers)) return
    await this.#writes.run('mark_keys_1', [])
    this.#areKeysMarked = true
  }

  /** Calls a function that answers with a word for each entry, and rings for what it brought. */
  async #answered<Word>(name: string, values: readonly unknown[]): Promise<Word[]> {
    const reply = await this.#writes.one<Answered<Word>>(name, values)
    this.#wrote(reply)
    return [...reply.answers]
  }

  #wrote({ ring, ring_at: at, giver }: RingReply, ended = 0): void {
    this.#upkeep.wrote(ended)
    if (ring === null || ring.length === 0) return
    this.#wakeups.ring({ at: at ?? undefined, giver: giver ?? '', topics: ring })
  }

  async #findQueue(): Promise<number | undefined> {
    const rows = (await this.#writesLink.call({
      text: `select queue from "${this.#options.schema}".queue where name = $1`,
      values: [this.#context.queue],
    })) as readonly { queue: number }[]
    return rows[0]?.queue
  }

  #at(): string | null {
    return this.#options.now === undefined ? null : toMicros(this.#options.now())
  }
}

/** As `channel_1` makes it. Of the whole database, so it names schema and queue; short, because names of channels are. */
function channelOf(schema: string, queue: string): string {
  return `punctual_${createHash('sha256').update(`${schema}\n${queue}`).digest('hex').slice(0, 24)}`
}
