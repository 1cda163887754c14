/**
 * The Redis engine: each verb is one script, so that it is atomic and takes one round trip.
 *
 *   put ─► delay_tasks ──claim_due──► leases, running ──settle──► gone, delay_tasks or dead
 *             │    ▲                     │      ▲
 *             └────┴── pending: due,     └──────┘ claim_lapsed
 *                      nobody asked
 *
 * Nothing is kept here but the connections: one for calls, one that hears wake-ups, and where replicas confirm what is
 * written, one for that. All times are the server's;
 * all state is the server's; any number of processes may do the same. What lives where: `scripts/parts/base.lua`.
 */
import { UsageError } from '../../core/errors.ts'
import type { Logger } from '../../core/log.ts'
import type { Random } from '../../random.ts'
import { worstFirst } from '../contract/findings.ts'
import type * as contract from '../contract/store.ts'
import type { StoreContext } from '../engine.ts'
import { admitEntries } from '../shared/admission.ts'
import { topicsPage } from '../shared/topics-page.ts'
import { FeaturelessStore, unsupported } from '../shared/unsupported.ts'
import { examineAgreement } from './doctor/consistency.ts'
import { ConfirmedCalls } from './replicated/confirmed-calls.ts'
import type { Connect, Connection } from './link/connection.ts'
import { decodeCursor, encodeCursor } from './wire/cursor.ts'
import { examine } from './doctor/doctor.ts'
import { KEY_TYPES, queueKeys, wakeChannel } from './scripts/keys.ts'
import type { Durability } from './replicated/durability.ts'
import { Link, type LinkOptions } from './link/link.ts'
import {
  decodeClaim,
  decodeCounts,
  decodeStored,
  putResults,
  settleResults,
  words,
  type Claimed,
} from './wire/replies.ts'
import { claimDueArgs, extendArgs, putArgs, rescheduleArgs, settleArgs } from './wire/requests.ts'
import { ScriptCalls } from './scripts/calls.ts'
import * as scripts from './scripts/generated.ts'
import type { PrimaryWatch } from './sentinel/primary-watch.ts'
import type { Sentinels } from './sentinel/sentinels.ts'
import type { Timeouts } from './address/options.ts'
import { Wakeups } from './link/wakeups.ts'

const BATCH_MAX = 1000
/** A round trip in a data centre takes well under a millisecond; a busy event loop or server takes a few. */
const LEAD_MS = 10

const WRITES = [
  scripts.PUT_SCRIPT,
  scripts.REMOVE_SCRIPT,
  scripts.RESCHEDULE_SCRIPT,
  scripts.SETTLE_SCRIPT,
  scripts.REVIVE_SCRIPT,
]

export type RedisStoreOptions = Timeouts & {
  readonly connect: Connect
  readonly server: string
  readonly durability: Durability
  /** Where they know the way to the primary. */
  readonly sentinels?: Sentinels
  readonly watch?: PrimaryWatch
  /** Tests only. */
  readonly now?: () => number
}

export class RedisStore extends FeaturelessStore implements contract.Store {
  protected readonly engine = 'redis'
  readonly capabilities: contract.Capabilities

  readonly #context: StoreContext
  readonly #options: RedisStoreOptions
  readonly #logger: Logger
  readonly #link: Link
  /** For those that need replicas to confirm them; undefined where the primary is enough. */
  readonly #confirmed: ConfirmedCalls | undefined
  readonly #scripts: ScriptCalls
  /**
   * For what a caller may rely on once it is answered. Claims and extensions are not among it: one that a failover
   * forgets hands its message out again, and waiting for replicas would let leases run out.
   */
  readonly #writes: ScriptCalls
  readonly #wakeups: Wakeups
  /** Part of every lease token of this store, so that no two processes can ever give the same one. */
  readonly #nonce: string
  #claims = 0

  constructor(context: StoreContext, options: RedisStoreOptions) {
    super()
    this.#context = context
    this.#options = options
    this.#logger = context.logger
    this.#nonce = makeNonce(context.random)
    this.capabilities = {
      engine: 'redis',
      durability: options.durability.kind === 'replicated' ? 'replicas' : 'server',
      shared: true,
      wakes: 'hint',
      batchMax: BATCH_MAX,
      batchBytesMax: 8 * 1024 * 1024,
      wantsMax: BATCH_MAX,
      leadMs: LEAD_MS,
      features: [],
    }
    const shared = { ...options, clock: context.clock, random: context.random, logger: context.logger }
    const name = clientName(context.queue)
    this.#link = new Link({ ...shared, name })
    this.#scripts = new ScriptCalls(this.#link, context.queue, options.now)
    this.#confirmed = confirmedCalls({ ...shared, name: `${name}:writes` }, context.queue, options.durability)
    this.#writes =
      this.#confirmed === undefined
        ? this.#scripts
        : new ScriptCalls(this.#confirmed, context.queue, options.now)
    this.#wakeups = new Wakeups({
      ...shared,
      name: `${name}:wakeups`,
      channel: wakeChannel(context.queue),
      own: this.#nonce,
    })
  }

  /** Rejects when Redis cannot be reached in time; it goes on trying, and may be called again. */
  async open(): Promise<void> {
    const keys = queueKeys(this.#context.queue)
    const types = await Promise.all(keys.map((key) => this.#link.call(['TYPE', key])))
    for (const [index, type] of types.entries()) {
      if (type === 'none' || type === KEY_TYPES[index]) continue
      throw new UsageError(
        'STORE_REFUSED',
        `the key ${keys[index]} holds a ${String(type)} that is not punctual’s; choose another queue name or remove it.`,
        { value: keys[index] },
      )
    }
    await this.#confirmed?.open()
  }

  async close(): Promise<void> {
    this.#options.watch?.close()
    this.#wakeups.close()
    this.#confirmed?.close()
    this.#link.close()
  }

  async put(messages: readonly contract.NewMessage[]): Promise<contract.PutResult[]> {
    this.#admit(messages.length)
    if (messages.length === 0) return []
    return putResults(messages.length, await this.#writes.run(scripts.PUT_SCRIPT, putArgs(messages)))
  }

  async remove(ids: readonly string[], from: 'waiting' | 'dead'): Promise<contract.RemoveResult[]> {
    this.#admit(ids.length)
    if (ids.length === 0) return []
    return words(await this.#writes.run(scripts.REMOVE_SCRIPT, [from, ...ids]))
  }

  async reschedule(moves: readonly contract.Move[]): Promise<contract.RescheduleResult[]> {
    this.#admit(moves.length)
    if (moves.length === 0) return []
    return words(await this.#writes.run(scripts.RESCHEDULE_SCRIPT, rescheduleArgs(moves)))
  }

  /** Hands out at most `batchMax` at once, and fewer where bodies are large. */
  async claim(request: contract.ClaimRequest): Promise<contract.ClaimReply> {
    const limit = Math.min(request.limit, BATCH_MAX)
    if (request.from === 'lapsed') return this.#claimLapsed(limit, request.leaseMs)
    this.#admit(request.wants.length)
    const args = claimDueArgs(request, limit, { nonce: this.#claimNonce(), publisher: this.#nonce })
    const topics = request.wants.map(({ topic }) => topic)
    return this.#claimed(decodeClaim(await this.#scripts.run(scripts.CLAIM_DUE_SCRIPT, args), topics))
  }

  async extend(leases: readonly contract.LeaseRef[], leaseMs: number): Promise<contract.ExtendResult[]> {
    this.#admit(leases.length)
    if (leases.length === 0) return []
    return words(await this.#scripts.run(scripts.EXTEND_SCRIPT, extendArgs(leases, leaseMs)))
  }

  async settle(settlements: readonly contract.Settlement[]): Promise<contract.SettleResult[]> {
    this.#admit(settlements.length)
    if (settlements.length === 0) return []
    return settleResults(
      settlements.length,
      await this.#writes.run(scripts.SETTLE_SCRIPT, settleArgs(settlements)),
    )
  }

  async revive(ids: readonly string[]): Promise<contract.ReviveResult[]> {
    this.#admit(ids.length)
    if (ids.length === 0) return []
    return words(await this.#writes.run(scripts.REVIVE_SCRIPT, ids))
  }

  async inspect(query: contract.InspectQuery): Promise<contract.Page> {
    if ('ids' in query) {
      this.#admit(query.ids.length)
      if (query.ids.length === 0) return { items: [], scanned: 0 }
      const found = decodeStored(await this.#scripts.run(scripts.INSPECT_IDS_SCRIPT, query.ids))
      return { items: found, scanned: query.ids.length }
    }
    this.#admit(query.limit)
    const place = decodeCursor(query.state, query.cursor)
    const args = [query.state, query.topic ?? '', String(query.limit), ...place]
    const [after, rows] = words<never>(await this.#scripts.run(scripts.INSPECT_PAGE_SCRIPT, args))
    const items = decodeStored(rows)
    const end = words(after)
    const scanned = items.length
    return end.length === 0 ? { items, scanned } : { items, scanned, cursor: encodeCursor(query.state, end) }
  }

  async count(): Promise<contract.Counts> {
    const { topics: _topics, ...counts } = decodeCounts(await this.#scripts.run(scripts.COUNT_SCRIPT, []))
    return counts
  }

  async countTopics(query: contract.TopicsQuery): Promise<contract.TopicsPage> {
    return topicsPage(decodeCounts(await this.#scripts.run(scripts.COUNT_SCRIPT, [])).topics, query)
  }

  override backup(): Promise<never> {
    return unsupported('redis', 'backup', 'use the tools of its server: redis-cli --rdb FILE')
  }

  async doctor(): Promise<contract.Finding[]> {
    const { durability, sentinels } = this.#options
    const agreement = examineAgreement(await this.#scripts.run(scripts.CHECKUP_SCRIPT, []))
    const server = await examine({ link: this.#link, clock: this.#context.clock, durability, sentinels })
    return worstFirst([...agreement, ...server])
  }

  onWake(listener: () => void): () => void {
    return this.#wakeups.listen(listener)
  }

  async #claimLapsed(limit: number, leaseMs: number): Promise<contract.ClaimReply> {
    const args = [String(limit), String(leaseMs), this.#claimNonce()]
    return this.#claimed(decodeClaim(await this.#scripts.run(scripts.CLAIM_LAPSED_SCRIPT, args)))
  }

  /** Also of its own for each claim: a failover may set the server's sequence back, and it gives its numbers again. */
  #claimNonce(): string {
    this.#claims += 1
    return `${this.#nonce}-${this.#claims.toString(36)}`
  }

  #claimed({ orphans, ...reply }: Claimed): contract.ClaimReply {
    if (orphans > 0) {
      this.#logger.error(
        `${orphans} messages of queue ${this.#context.queue} had no payload and were dropped: was a key of the queue evicted or deleted?`,
      )
    }
    return reply
  }

  #admit(entries: number): void {
    admitEntries(entries, BATCH_MAX)
  }
}

/** A call that first has to bring its script would wait for the replicas twice. */
async function loadWrites(connection: Connection): Promise<void> {
  await Promise.all(WRITES.map(({ source }) => connection.send(['SCRIPT', 'LOAD', source])))
}

function confirmedCalls(
  options: LinkOptions,
  queue: string,
  durability: Durability,
): ConfirmedCalls | undefined {
  if (durability.kind === 'primary') return undefined
  const { server, callTimeoutMs, clock } = options
  const { replicas, timeoutMs } = durability
  return new ConfirmedCalls(new Link({ ...options, prepare: loadWrites }), {
    queue,
    server,
    callTimeoutMs,
    clock,
    replicas,
    timeoutMs,
  })
}

/** CLIENT SETNAME takes no spaces and no characters beyond ASCII. */
function clientName(queue: string): string {
  return `punctual:${queue.replaceAll(/[^\x21-\x7e]/g, '_')}`
}

function makeNonce(random: Random): string {
  const part = (): string => Math.floor(random.next() * 36 ** 8).toString(36)
  return part() + part()
}
