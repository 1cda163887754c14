/**
 * The engine for MySQL and MariaDB. Each verb is one transaction of two or three round trips: rows are locked, what becomes
 * of them is decided here, and written with the commit (`verbs`). Nothing is kept here but sessions: one for claims and
 * extensions, one for settlements, one for everything else, and one that sleeps until it is woken. A producer has only the
 * third. All times and all state are the server's; any number of processes may do the same.
 *
 * What lives where: `sql/tables`. Where to begin in `verbs`, by story:
 *
 *   claim/   due-claims ─► heads ─► due ─► picking        what is due, and how it is locked and leased; lapsed, workers
 *   write/   writing ─► row-set ─► locked-row             the frame; verbs: putting (gathered-puts) settling (acks) changing
 *   look/    pages ─► key-walk; looking                   lists; counts, topics, figures, forecast
 */
import type { QueuePlace } from './sql/clock.ts'
import { parseTransaction, type TransactionHandle } from '../../core/input/transaction.ts'
import { worstFirst } from '../contract/findings.ts'
import { followUpsOf } from '../contract/sizes.ts'
import type * as contract from '../contract/store.ts'
import type { StoreContext } from '../engine.ts'
import { needsNewerWorkers, type MarkingMessage } from '../shared/newer-workers.ts'
import { unsupported } from '../shared/unsupported.ts'
import type { Ring } from '../sql/wakeups/bell.ts'
import { changeControl, controlsReply, isOfKey, type ControlsWrite } from '../sql/controlling.ts'
import { controlsOf, type GateRow } from '../sql/gating.ts'
import { needsMigration, unmigrated, type SchemaState } from '../sql/server/migrating.ts'
import { makeToken } from '../sql/tokens.ts'
import { QueueNumber } from '../sql/queue-number.ts'
import type { SqlUpkeep } from '../sql/upkeep.ts'
import { SqlWakeups } from '../sql/wakeups/wakeups.ts'
import type { MysqlAddress } from './address/url.ts'
import { countKeyLimits, readGate, writeControls } from './controlling.ts'
import { examine } from './doctor.ts'
import { MysqlJoined } from './joined.ts'
import { GatheredPuts } from './verbs/write/gathered-puts.ts'
import { MysqlLeasing } from './leasing.ts'
import { MysqlLink } from './link/mysql-link.ts'
import { MysqlSleeper } from './link/sleeper.ts'
import { MysqlLooking } from './verbs/look/looking.ts'
import { MARK_KEYS, migrate, readSchema, tablesAt } from './migration.ts'
import { sql } from './sql/statement.ts'
import { Transactions, type Steps } from './transactions.ts'
import { makeUpkeep } from './upkeep.ts'
import { DEAD, WAITING } from './verbs/write/locked-row.ts'
import { readKeys } from './verbs/keys/states.ts'
import { readIds, readPage, readRemembered } from './verbs/look/pages.ts'
import { record } from './verbs/write/recording.ts'
import { leaveWorker, readWorkers } from './verbs/claim/workers.ts'
import { put, restore } from './verbs/write/putting.ts'
import { remove, reschedule, revive } from './verbs/write/changing.ts'
import type { WrittenAnswers } from './verbs/write/writing.ts'

const BATCH_MAX = 1000
/** A quarter of what a server takes in one packet at least: texts grow when they are written into a statement. */
const BATCH_BYTES_MAX = 4 * 1024 * 1024
/** A claim is two round trips and a commit that waits for the disk, behind those of others. */
const LEAD_MS = 30
const CANCELLING: Ring = { at: undefined, giver: ' cancelling', topics: [] }

export type MysqlStoreOptions = {
  readonly address: MysqlAddress
  readonly server: string
  readonly mayMigrate: boolean
  readonly connectTimeoutMs: number
  readonly callTimeoutMs: number
  /** Tests only. */
  readonly now?: () => number
  readonly isDeaf: boolean
}

export class MysqlStore implements contract.Store {
  readonly capabilities: contract.Capabilities = {
    engine: 'mysql',
    durability: 'server',
    shared: true,
    wakes: 'hint',
    batchMax: BATCH_MAX,
    batchBytesMax: BATCH_BYTES_MAX,
    wantsMax: BATCH_MAX,
    leadMs: LEAD_MS,
    features: ['controls', 'limits', 'transactions', 'keys'],
  }
  readonly #context: StoreContext
  readonly #options: MysqlStoreOptions
  readonly #links: readonly MysqlLink[]
  readonly #writesLink: MysqlLink
  readonly #writes: Transactions
  readonly #puts: GatheredPuts
  readonly #leasing: MysqlLeasing
  readonly #looking: MysqlLooking
  readonly #wakeups: SqlWakeups
  readonly #upkeep: SqlUpkeep
  /** What to ring for when users' transactions are committed by us. */
  readonly #joinedRings = new WeakMap<object, Ring[]>()
  readonly #queue: QueueNumber
  #areKeysMarked = false

  constructor(context: StoreContext, options: MysqlStoreOptions) {
    this.#context = context
    this.#options = options
    const { queue, clock, random, logger } = context
    const { server } = options
    const shared = { ...options, clock, random, logger }
    const name = `punctual:${queue}`
    const lock = `punctual:${makeToken(random)}`
    this.#writesLink = new MysqlLink({
      ...shared,
      name,
      // The lock that our sleeper waits for in vain.
      prepare: async (connection) => {
        await connection.send((send) => send([sql`do get_lock(${lock}, 0)`]))
      },
    })
    const besides = { ...shared, detour: this.#writesLink }
    const claims = new MysqlLink({ ...besides, name: `${name}:claims` })
    const settles = new MysqlLink({ ...besides, name: `${name}:settlements` })
    this.#links = [claims, settles, this.#writesLink]
    const calls = { server, clock, random }
    this.#writes = new Transactions(this.#writesLink, calls)
    this.#queue = new QueueNumber(
      () => this.#findQueue(),
      async () => (await this.#findQueue()) ?? this.#makeQueue(),
    )
    const wrote = (ring: Ring | undefined): void => this.#wrote(ring)
    const limits = { entriesMax: BATCH_MAX, bytesMax: BATCH_BYTES_MAX }
    this.#puts = new GatheredPuts({ calls: this.#writes, where: () => this.#place(), wrote, ...limits })
    const where = (): Promise<QueuePlace> => this.#knownPlace()
    this.#leasing = new MysqlLeasing({
      context,
      claims: new Transactions(claims, calls),
      settles: new Transactions(settles, calls),
      now: options.now,
      wrote,
    })
    this.#looking = new MysqlLooking({ calls: this.#writes, where })
    this.#upkeep = makeUpkeep(clock, this.#writes, where)
    const sleeping = { ...shared, name: `${name}:wakeups`, lock, others: this.#writesLink }
    this.#wakeups = new SqlWakeups({
      listen: (heard) => new MysqlSleeper({ ...sleeping, queue: () => this.#queue.own(), heard }),
      lower: () => this.#leasing.heard(),
    })
  }

  /** Rejects when the server cannot be reached in time; it goes on trying, and may be called again. */
  async open(): Promise<void> {
    const { mayMigrate, server } = this.#options
    const state = (await this.#writesLink.call(readSchema)) as SchemaState | undefined
    const tables = tablesAt(server)
    if (!needsMigration(state, tables)) return
    if (!mayMigrate) throw unmigrated(state, tables)
    await migrate({ ...this.#options, logger: this.#context.logger })
  }

  async close(): Promise<void> {
    this.#upkeep.close()
    this.#wakeups.close()
    for (const link of this.#links) link.close()
  }

  async put(messages: readonly contract.NewMessage[]): Promise<contract.PutResult[]> {
    await this.#markKeys(messages)
    const stored = await this.#puts.put(messages)
    const where = await this.#place()
    return stored ?? this.#answered((steps) => put(steps, where, messages))
  }

  async remove(
    ids: readonly string[],
    from: 'waiting' | 'dead',
    { isRunningToo = false }: contract.RemoveOptions = {},
  ): Promise<contract.RemoveResult[]> {
    const where = await this.#knownPlace()
    const how = { wanted: from === 'waiting' ? WAITING : DEAD, isRunningToo } as const
    const answers = await this.#answered((steps) => remove(steps, where, ids, how))
    if (answers.includes('cancelling')) this.#wakeups.ring(CANCELLING)
    return answers
  }

  async reschedule(moves: readonly contract.Move[]): Promise<contract.RescheduleResult[]> {
    const where = await this.#knownPlace()
    return this.#answered((steps) => reschedule(steps, where, moves))
  }

  async revive(ids: readonly string[]): Promise<contract.ReviveResult[]> {
    const where = await this.#knownPlace()
    return this.#answered((steps) => revive(steps, where, ids))
  }

  async control(change: contract.ControlChange): Promise<void> {
    const where = await this.#place()
    const read = (): Promise<GateRow> => readGate(this.#writes, where, [])
    const ofKey = isOfKey(change) ? change : undefined
    const write = (one: ControlsWrite): Promise<boolean> =>
      writeControls(this.#writes, where.queue, one, ofKey)
    await changeControl(read, write, change, (one) => countKeyLimits(this.#writes, where.queue, one))
    this.#wakeups.ring({ at: undefined, giver: ' controls', topics: [] })
  }

  async controls(): Promise<contract.ControlsReply> {
    return controlsReply(await readGate(this.#writes, await this.#knownPlace(), []))
  }

  async keys(query: contract.KeysQuery): Promise<contract.KeysPage> {
    const where = await this.#knownPlace()
    const controls = controlsOf(await readGate(this.#writes, where, []))
    return readKeys(this.#writes, where, query, controls.get(query.topic)?.limit.perKey)
  }

  async join(transaction: TransactionHandle): Promise<contract.JoinedVerbs> {
    const send = parseTransaction(transaction)
    // Outside of the user's transaction: a new queue must not keep others waiting until it ends.
    const { queue } = await this.#place()
    return new MysqlJoined(send, {
      queue,
      capabilities: this.capabilities,
      markKeys: (messages) => this.#markKeys(messages),
      noted: (ring) => {
        if (ring === undefined) return
        this.#joinedRings.set(transaction, [...(this.#joinedRings.get(transaction) ?? []), ring])
      },
      committed: () => {
        for (const ring of this.#joinedRings.get(transaction) ?? []) this.#wrote(ring)
        this.#joinedRings.delete(transaction)
      },
    })
  }

  async claim(request: contract.ClaimRequest): Promise<contract.ClaimReply> {
    if (request.from === 'due') this.#wakeups.note(request.owner, request.wants)
    return this.#leasing.claim(await this.#place(), request)
  }

  async extend(leases: readonly contract.LeaseRef[], leaseMs: number): Promise<contract.ExtendResult[]> {
    const where = await this.#knownPlace()
    return this.#leasing.extend(where, leases, leaseMs)
  }

  async settle(settlements: readonly contract.Settlement[]): Promise<contract.SettleResult[]> {
    await this.#markKeys(settlements.flatMap(followUpsOf))
    return this.#leasing.settle(await this.#knownPlace(), settlements)
  }

  async owned(owner: string, cursor?: string): Promise<contract.OwnedPage> {
    return this.#leasing.owned(await this.#knownPlace(), owner, cursor)
  }

  async leave(owner: string): Promise<void> {
    this.#wakeups.forget(owner)
    this.#leasing.forget(owner)
    await this.#writes.flight(...leaveWorker(await this.#knownPlace(), owner))
  }

  async record(figures: readonly contract.TopicFigures[]): Promise<void> {
    const where = await this.#place()
    await this.#writes.run((steps) => record(steps, where, figures))
  }

  async inspect(query: contract.InspectQuery): Promise<contract.Page> {
    const where = await this.#knownPlace()
    return 'ids' in query ? readIds(this.#writes, where, query.ids) : readPage(this.#writes, where, query)
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

  async workers(): Promise<contract.WorkersReply> {
    return readWorkers(this.#writes, await this.#knownPlace())
  }

  backup(): Promise<never> {
    return unsupported('mysql', 'backup', 'use the tools of its server: mariadb-backup, mysqldump')
  }

  async remembered(query: contract.RememberedQuery): Promise<contract.Page> {
    return readRemembered(this.#writes, await this.#knownPlace(), query)
  }

  async restore(messages: readonly contract.RestoredMessage[]): Promise<contract.RestoreResult[]> {
    await this.#markKeys(messages)
    const where = await this.#place()
    return this.#answered((steps) => restore(steps, where, messages))
  }

  async doctor(): Promise<contract.Finding[]> {
    const { server } = this.#options
    const { clock } = this.#context
    return worstFirst(await examine({ calls: this.#writes, clock, server, hearing: this.#wakeups.hearing }))
  }

  onWake(listener: (wake: contract.WakeUp) => void, owner?: string): () => void {
    return this.#wakeups.listen(listener, owner)
  }

  /** From the first message with a key or a window on, processes that know none are kept from opening these tables. */
  async #markKeys(messages: readonly MarkingMessage[]): Promise<void> {
    if (this.#areKeysMarked || !messages.some(needsNewerWorkers)) return
    await this.#writes.flight(MARK_KEYS)
    this.#areKeysMarked = true
  }

  async #answered<Word>(work: (steps: Steps) => Promise<WrittenAnswers<Word>>): Promise<Word[]> {
    const { answers, ring } = await this.#writes.run(work)
    this.#wrote(ring)
    return answers
  }

  #wrote(ring: Ring | undefined): void {
    this.#upkeep.wrote()
    if (ring !== undefined) this.#wakeups.ring(ring)
  }

  /** For writes: the queue is made with its first one. */
  async #place(): Promise<QueuePlace> {
    return this.#at(await this.#queue.own())
  }

  async #knownPlace(): Promise<QueuePlace> {
    return this.#at(await this.#queue.known())
  }

  #at(queue: number): QueuePlace {
    const { now } = this.#options
    return { queue, at: now === undefined ? null : Math.round(now() * 1000) }
  }

  async #findQueue(): Promise<number | undefined> {
    const [[row] = []] = await this.#writes.flight(
      sql`select queue from punctual_queue where name = ${this.#context.queue}`,
    )
    return row === undefined ? undefined : Number(row['queue'])
  }

  async #makeQueue(): Promise<number> {
    // Ignored where another process was faster.
    await this.#writes.flight(sql`insert ignore into punctual_queue (name) values (${this.#context.queue})`)
    return (await this.#findQueue()) ?? 0
  }
}
