/**
 * The Redis engine: each verb is one script, so that it is atomic and takes one round trip.
 *
 *   put ─► line of its topic and priority ──claim_due──► claim ──settle──► gone, its line, or dead
 *                                                        │   ▲
 *                                                        └───┘ claim_lapsed
 *
 * Nothing is kept here but the way to the server (`route.ts`). All times are the server's; all state is the server's; any
 * number of processes may do the same. What lives where: `scripts/parts/base.lua`. What people ask is in `looking.ts`.
 */
import { decodeCursor, encodeCursor } from '../../core/encoding/cursor.ts'
import { UsageError, invariant } from '../../core/errors.ts'
import type { Logger } from '../../core/log.ts'
import type { Random } from '../../random.ts'
import { worstFirst } from '../contract/findings.ts'
import { followUpsOf } from '../contract/sizes.ts'
import type * as contract from '../contract/store.ts'
import type { StoreContext } from '../engine.ts'
import { needsNewerWorkers, type MarkingMessage } from '../shared/newer-workers.ts'
import { tooManyControls, tooManyKeyLimits } from '../shared/controls.ts'
import * as keyless from '../shared/keyless.ts'
import { isStorable } from '../shared/moments.ts'
import { unsupported } from '../shared/unsupported.ts'
import { WantedTopics } from '../shared/wanted-topics.ts'
import { examineAgreement } from './doctor/consistency.ts'
import { tooNew, tooOld } from './layout.ts'
import { Looking } from './looking.ts'
import type { Durability } from './replicated/durability.ts'
import type { Route } from './route.ts'
import { ScriptCalls, type ScriptCall } from './scripts/calls.ts'
import * as scripts from './scripts/generated.ts'
import type { QueueKeys } from './scripts/keys.ts'
import { claimDueCall, dueReply, lapsedReply, makeToken, ownedLeases, type Claimed } from './wire/claim.ts'
import { controlArgs, controlsReply } from './wire/controls.ts'
import { recordArgs } from './wire/numbers.ts'
import { momentArg, putCall, putReply } from './wire/put.ts'
import { restoreCall } from './wire/restore.ts'
import { ServerClock } from './wire/server-clock.ts'
import { extendCall, extendResults, settleStored } from './wire/settle.ts'
import { TopicSets } from './wire/topic-sets.ts'

const BATCH_MAX = 1000
const BATCH_BYTES_MAX = 8 * 1024 * 1024
const WANTS_MAX = 1000
/** A round trip in a data centre takes well under a millisecond; a busy event loop or server takes a few. */
const LEAD_MS = 10

/** Where the next layout would have its payloads: this queue needs a version that knows keys and windows. */
const KEYS_MARK = 'keys'

const OWNED_CURSOR = [/^owned$/, /^[-+.\w]+$/, /^/]

export type RedisStoreOptions = {
  readonly keys: QueueKeys
  readonly durability: Durability
  /** Not where it is one of several partitions. */
  readonly hasKeys: boolean
  /** Makes the way to the server; `nonce` is this store's name in the watch. */
  readonly route: (nonce: string) => Route
  /** What an operator should know about the server. */
  readonly examine: (route: Route) => Promise<contract.Finding[]>
  /** Tests only. */
  readonly now?: () => number
}

/** Whose partitions have no keys. */
const CLUSTER = { engine: 'Redis Cluster' }

export class RedisStore implements contract.Store {
  readonly capabilities: contract.Capabilities

  readonly #context: StoreContext
  readonly #options: RedisStoreOptions
  readonly #logger: Logger
  readonly #keys: QueueKeys
  readonly #route: Route
  readonly #scripts: ScriptCalls
  readonly #writes: ScriptCalls
  readonly #looking: Looking
  readonly #wanted = new WantedTopics()
  readonly #sets = new TopicSets()
  readonly #serverClock: ServerClock
  /** Part of every lease token, so that no two processes can ever give the same one; and this store's name in the watch. */
  readonly #nonce: string
  #claims = 0
  #areKeysMarked = false

  constructor(context: StoreContext, options: RedisStoreOptions) {
    this.#context = context
    this.#options = options
    this.#logger = context.logger
    this.#nonce = makeNonce(context.random)
    this.#keys = options.keys
    this.#serverClock = new ServerClock(context.clock)
    this.capabilities = {
      engine: 'redis',
      durability: options.durability.kind === 'replicated' ? 'replicas' : 'server',
      shared: true,
      wakes: 'some',
      batchMax: BATCH_MAX,
      batchBytesMax: BATCH_BYTES_MAX,
      wantsMax: WANTS_MAX,
      leadMs: LEAD_MS,
      features: options.hasKeys ? ['controls', 'limits', 'keys'] : ['controls', 'limits'],
    }
    this.#route = options.route(this.#nonce)
    const { calls, writes } = this.#route
    this.#scripts = new ScriptCalls(calls, this.#keys, options.now)
    this.#writes = writes === calls ? this.#scripts : new ScriptCalls(writes, this.#keys, options.now)
    this.#looking = new Looking(this.#scripts)
  }

  /** Rejects when Redis cannot be reached in time; it goes on trying, and may be called again. */
  async open(): Promise<void> {
    const { types, oldPayload, newPayload } = this.#keys
    const asked = [...types.map(([key]) => key), oldPayload, newPayload].map((key) =>
      this.#route.calls.call(['TYPE', key]),
    )
    // A user that may not ask for the time hears of it at its first put.
    const [found] = await Promise.all([Promise.all(asked), this.#learnNow().catch(() => undefined)])
    const { queue } = this.#context
    if (!(await this.#isOurs(found.pop()))) throw tooNew(queue, newPayload)
    if (found.pop() !== 'none') throw tooOld(queue, oldPayload)
    for (const [index, [key, expected]] of types.entries()) {
      const type = found[index]
      if (type === 'none' || type === expected) continue
      throw new UsageError(
        'STORE_REFUSED',
        `the key ${key} holds a ${String(type)} that is not punctual’s; choose another queue name or remove it.`,
        { value: key },
      )
    }
    await this.#route.open()
  }

  async close(): Promise<void> {
    this.#route.close()
  }

  async put(messages: readonly contract.NewMessage[]): Promise<contract.PutResult[]> {
    await this.#markKeys(messages)
    const call = putCall(this.#keys, messages, this.#now() ?? (await this.#learnNow()))
    const { now, results } = putReply(messages.length, await this.#write(scripts.PUT_SCRIPT, call))
    this.#serverClock.hear(now)
    return results
  }

  async remove(
    ids: readonly string[],
    from: 'waiting' | 'dead',
    { isRunningToo = false }: contract.RemoveOptions = {},
  ): Promise<contract.RemoveResult[]> {
    const args = [from, isRunningToo ? '1' : '0', ...ids]
    return (await this.#write(scripts.REMOVE_SCRIPT, { args })) as contract.RemoveResult[]
  }

  async reschedule(moves: readonly contract.Move[]): Promise<contract.RescheduleResult[]> {
    const args = moves.flatMap(({ id, when }) => [id, momentArg(when)])
    return (await this.#write(scripts.RESCHEDULE_SCRIPT, { args })) as contract.RescheduleResult[]
  }

  async revive(ids: readonly string[]): Promise<contract.ReviveResult[]> {
    return (await this.#write(scripts.REVIVE_SCRIPT, { args: ids })) as contract.ReviveResult[]
  }

  async claim(request: contract.ClaimRequest): Promise<contract.ClaimReply> {
    const token = this.#newToken(request)
    if (request.from === 'due') {
      this.#wanted.note(request.owner, request.wants)
      const standing = this.#sets.stand(this.#nonce, request)
      const call = claimDueCall(this.#keys, request, token, standing)
      const reply = dueReply(await this.#run(scripts.CLAIM_DUE_SCRIPT, call), request, token)
      this.#route.wakeups.look(reply.lookMs, request.sleeper?.fallbackMs)
      return this.#claimed(reply)
    }
    const call = {
      keys: [this.#keys.claim(token)],
      args: [String(request.limit), String(request.leaseMs), request.owner],
    }
    const reply = await this.#run(scripts.CLAIM_LAPSED_SCRIPT, call)
    return this.#claimed(lapsedReply(this.#keys, reply, token))
  }

  async extend(leases: readonly contract.LeaseRef[], leaseMs: number): Promise<contract.ExtendResult[]> {
    const call = extendCall(this.#keys, leases, leaseMs)
    return extendResults(call, await this.#run(scripts.EXTEND_SCRIPT, call))
  }

  async settle(settlements: readonly contract.Settlement[]): Promise<contract.SettleResult[]> {
    await this.#markKeys(settlements.flatMap(followUpsOf))
    const storable = settlements.every(isStorable) ? settlements : settlements.filter(isStorable)
    if (storable.length === 0) return settlements.map(() => 'refused')
    const isNewCarried = storable.some((one) => 'followUps' in one)
    const now = this.#now() ?? (isNewCarried ? await this.#learnNow() : 0)
    const results = await settleStored((script, call) => this.#write(script, call), this.#keys, storable, now)
    if (storable === settlements) return results
    const answers = results.values()
    return settlements.map((one) => (isStorable(one) ? (answers.next().value ?? 'lost') : 'refused'))
  }

  async owned(owner: string, cursor?: string): Promise<contract.OwnedPage> {
    const [, ...place] = cursor === undefined ? ['owned', '', ''] : decodeCursor(cursor, OWNED_CURSOR)
    const reply = await this.#run(scripts.OWNED_SCRIPT, { args: [owner, ...place] })
    const [end, rows] = reply as unknown as [end: readonly string[], rows: readonly string[]]
    const leases = ownedLeases(this.#keys, rows)
    return end.length === 0 ? { leases } : { leases, cursor: encodeCursor(['owned', ...end]) }
  }

  async leave(owner: string): Promise<void> {
    this.#wanted.forget(owner)
    await this.#scripts.run(scripts.LEAVE_SCRIPT, { args: [owner, this.#nonce, this.#sets.forget(owner)] })
  }

  async record(figures: readonly contract.TopicFigures[]): Promise<void> {
    await this.#scripts.run(scripts.RECORD_SCRIPT, { args: recordArgs(figures) })
  }

  async control(change: contract.ControlChange): Promise<void> {
    if (change.kind === 'limit') await this.#markKeys([{ key: change.key ?? change.limit?.perKey }])
    const result = await this.#writes.run(scripts.CONTROL_SCRIPT, { args: controlArgs(change) })
    if (result === 'TOO_MANY') throw tooManyControls(change.topic)
    if (result === 'TOO_MANY_KEYS' && 'key' in change) throw tooManyKeyLimits(change.topic, change.key ?? '')
  }

  async controls(): Promise<contract.ControlsReply> {
    return controlsReply(await this.#run(scripts.CONTROLS_SCRIPT, { args: [] }))
  }

  async keys(query: contract.KeysQuery): Promise<contract.KeysPage> {
    if (!this.#options.hasKeys) throw keyless.refusal(CLUSTER)
    return this.#looking.keys(query)
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
    const call = restoreCall(this.#keys, messages)
    return (await this.#write(scripts.RESTORE_SCRIPT, call)) as contract.RestoreResult[]
  }

  join(): Promise<never> {
    return unsupported('redis', 'transactions', 'keep the messages in the SQL database of your transactions')
  }

  backup(): Promise<never> {
    return unsupported('redis', 'backup', 'use the tools of its server: redis-cli --rdb FILE')
  }

  async doctor(): Promise<contract.Finding[]> {
    const agreement = examineAgreement(await this.#run(scripts.CHECKUP_SCRIPT, { args: [] }))
    return worstFirst([...agreement, ...(await this.#options.examine(this.#route))])
  }

  onWake(listener: (wake: contract.WakeUp) => void, owner?: string): () => void {
    return this.#route.wakeups.listen(listener, (message) => this.#wanted.hear(owner, message))
  }

  async #run(script: scripts.Script, call: ScriptCall): Promise<readonly unknown[]> {
    return list(await this.#scripts.run(script, call))
  }

  async #write(script: scripts.Script, call: ScriptCall): Promise<readonly unknown[]> {
    return list(await this.#writes.run(script, call))
  }

  /** Written before the first message with a key or a window: versions that know none refuse to open the queue then. */
  async #markKeys(messages: readonly MarkingMessage[]): Promise<void> {
    if (!this.#options.hasKeys && messages.some(({ key }) => key !== undefined))
      throw keyless.refusal(CLUSTER)
    if (this.#areKeysMarked || !messages.some(needsNewerWorkers)) return
    await this.#route.writes.call(['SET', this.#keys.newPayload, KEYS_MARK])
    this.#areKeysMarked = true
  }

  /** What the next layout calls its payloads: not there, or a mark of ours. */
  async #isOurs(type: unknown): Promise<boolean> {
    if (type !== 'string') return type === 'none'
    return (await this.#route.calls.call(['GET', this.#keys.newPayload])) === KEYS_MARK
  }

  /** The store's now as far as it is known here. */
  #now(): number | undefined {
    return this.#options.now === undefined ? this.#serverClock.now() : this.#options.now()
  }

  /** Asks the server for its time, so that the first put knows it. */
  #learnNow(): Promise<number> {
    return this.#serverClock.ask(() => this.#route.calls.call(['TIME']))
  }

  /** New for each claim: a token that is given twice would let an old holder settle what another one runs. */
  #newToken({ owner, from }: contract.ClaimRequest): string {
    this.#claims += 1
    return makeToken(owner, `${this.#nonce}-${this.#claims.toString(36)}`, from === 'lapsed')
  }

  #claimed({ orphans, now, ...reply }: Claimed): contract.ClaimReply {
    this.#serverClock.hear(now)
    if (orphans > 0) {
      this.#logger.error(
        `${orphans} messages of queue ${this.#context.queue} had no payload and were dropped: was a key of the queue evicted or deleted?`,
      )
    }
    return reply
  }
}

function list(reply: unknown): readonly unknown[] {
  invariant(Array.isArray(reply), 'a script answers with a list')
  return reply as readonly unknown[]
}

function makeNonce(random: Random): string {
  const part = (): string => Math.floor(random.next() * 36 ** 8).toString(36)
  return part() + part()
}
