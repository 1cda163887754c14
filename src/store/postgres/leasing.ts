/**
 * The verbs about leases: claim, extend, settle, and what an owner holds. Claims and extensions have a connection of their
 * own, whose commits do not wait for the disk; settlements go with the writes.
 */
import { decodeCursor, encodeCursor } from '../../core/encoding/cursor.ts'
import type * as contract from '../contract/store.ts'
import type { StoreContext } from '../engine.ts'
import { isStorable } from '../shared/moments.ts'
import { extendInDoubt, type ExtendWord } from '../sql/extending.ts'
import type { Floors } from '../sql/floors.ts'
import { toMicros } from '../sql/micros.ts'
import { toLease } from '../sql/rows.ts'
import type { FunctionCalls } from './calls.ts'
import { DueClaiming, withKeyed } from '../sql/claiming.ts'
import type { GateRow, TopicKeyRules } from '../sql/gating.ts'
import { Presence } from '../sql/presence.ts'
import { makeToken, tokenColumn } from '../sql/tokens.ts'
import { claimReply, settleCall, type ClaimRow, type RingReply } from './wire.ts'

const LAPSED_BYTES_MAX = 8 * 1024 * 1024

const OWNED_CURSOR = [/^owned$/, /^\d{1,19}$/, /^\d{1,19}$/]

type SettleReply = RingReply & { readonly answers: readonly contract.SettleResult[] | null }

type ClaimTerms = {
  readonly at: string | null
  readonly limits: readonly number[]
  readonly leads: readonly string[]
  /** From the revision on. */
  readonly rest: readonly unknown[]
}

/** No revision, nothing limited, no meters, no rules of keys. */
const UNGATED: readonly unknown[] = [null, [], 0, [], [], [], [], [], [], [], [], []]

export type LeasingOptions = {
  readonly context: StoreContext
  readonly claims: FunctionCalls
  readonly writes: FunctionCalls
  readonly floors: Floors
  /** The clock of a test. */
  readonly now: (() => number) | undefined
  /** After each write: what to ring for, and how many messages may be gone. */
  readonly wrote: (reply: RingReply, ended: number) => void
}

export class Leasing {
  readonly #options: LeasingOptions
  readonly #presence = new Presence()
  readonly #due = new DueClaiming()

  constructor(options: LeasingOptions) {
    this.#options = options
  }

  forget(owner: string): void {
    this.#presence.forget(owner)
  }

  async claim(queue: number, request: contract.ClaimRequest): Promise<contract.ClaimReply> {
    const token = makeToken(this.#options.context.random)
    if (request.from === 'due') return this.#claimDue(queue, request, token)
    const values = [
      queue,
      this.#at(),
      request.owner,
      request.limit,
      LAPSED_BYTES_MAX,
      toMicros(request.leaseMs),
      token,
    ]
    return claimReply(await this.#options.claims.run<ClaimRow>('claim_lapsed_2', values), token, 0)
  }

  async extend(
    queue: number,
    leases: readonly contract.LeaseRef[],
    leaseMs: number,
  ): Promise<contract.ExtendResult[]> {
    const once = async (some: readonly contract.LeaseRef[]): Promise<readonly ExtendWord[]> => {
      const ids = some.map(({ id }) => id)
      const tokens = some.map(({ token }) => tokenColumn(token))
      const values = [queue, this.#at(), ids, tokens, toMicros(leaseMs)]
      return (await this.#options.claims.one<{ extend_1: ExtendWord[] }>('extend_1', values)).extend_1
    }
    return extendInDoubt(leases, once, this.#options.context.clock)
  }

  async settle(queue: number, settlements: readonly contract.Settlement[]): Promise<contract.SettleResult[]> {
    const results: contract.SettleResult[] = settlements.map(() => 'refused')
    const indexes = inOrder(settlements).filter((i) => isStorable(settlements[i] as contract.Settlement))
    if (indexes.length === 0) return results
    const entries = indexes.map((i) => settlements[i] as contract.Settlement)
    const call = async (isMarked: boolean): Promise<SettleReply> => {
      const { name, columns } = settleCall(entries, isMarked)
      return this.#options.writes.one<SettleReply>(name, [queue, this.#at(), ...columns])
    }
    const first = await call(false)
    const reply = first.answers === null ? await call(true) : first
    this.#options.wrote(reply, entries.length)
    for (const [n, i] of indexes.entries()) results[i] = reply.answers?.[n] ?? 'lost'
    return results
  }

  async owned(queue: number, owner: string, cursor: string | undefined): Promise<contract.OwnedPage> {
    const [, until, seq] = cursor === undefined ? ['', '0', '0'] : decodeCursor(cursor, OWNED_CURSOR)
    type Row = contract.LeaseRef & {
      readonly is_taken: boolean
      readonly until: number
      readonly seq: number
    }
    const rows = await this.#options.claims.run<Row>('owned_1', [queue, owner, until, seq])
    const leases = rows.flatMap(({ id, token, topic, is_taken: isTakenOver }) =>
      id === null ? [] : [{ id, token, topic, isTakenOver }],
    )
    const end = rows.at(-1)
    if (end === undefined || end.id !== null) return { leases }
    return { leases, cursor: encodeCursor(['owned', String(end.until), String(end.seq)]) }
  }

  #claimDue(queue: number, request: contract.ClaimDue, token: string): Promise<contract.ClaimReply> {
    const topics = request.wants.map(({ topic }) => topic)
    return this.#due.claim<GateRow>(request, {
      free: async () => {
        const lead = toMicros(request.leadMs)
        const rows = await this.#take(queue, request, token, {
          at: this.#at(),
          limits: request.wants.map(({ limit }) => limit),
          leads: topics.map(() => lead),
          rest: UNGATED,
        })
        return rows.length === 0 ? undefined : claimReply(rows, token, request.leadMs)
      },
      readGate: () => this.#options.claims.one('gate_1', [queue, this.#at(), topics]),
      gated: async (row, gated) => {
        const rows = await this.#take(queue, request, token, {
          // The moment at which the limits were read: neither early nor charged twice.
          at: String(row.now_at),
          limits: gated.limits,
          leads: gated.leads,
          rest: [
            row.revision,
            gated.isLimited,
            gated.limitedAll,
            ...gated.meters,
            ...keyColumns(gated.keyRules),
          ],
        })
        const end = rows.at(-1)
        if (end === undefined) return undefined
        const leases = rows.slice(0, -1).map((one) => toLease(one, token, end.now_at))
        return withKeyed(gated.reply(leases, end.heads ?? []), end.keyed)
      },
    })
  }

  async #take(
    queue: number,
    request: contract.ClaimDue,
    token: string,
    terms: ClaimTerms,
  ): Promise<readonly ClaimRow[]> {
    const { owner, facts, wants, limit, bytesMax, leaseMs } = request
    const { context, claims, floors, now: clockOfTest, wrote } = this.#options
    const { clock } = context
    const topics = wants.map(({ topic }) => topic)
    const from = floors.of(topics, clock.monotonic())
    const rows = await claims.run<ClaimRow>('claim_due_2', [
      queue,
      terms.at,
      owner,
      facts ?? null,
      this.#presence.tells(owner, facts, clockOfTest?.() ?? clock.now()),
      topics,
      terms.limits,
      from,
      limit,
      Math.floor(bytesMax),
      toMicros(leaseMs),
      terms.leads,
      token,
      ...terms.rest,
    ])
    const end = rows.at(-1)
    if (end === undefined) {
      this.#presence.forget(owner) // It was not told.
      return rows
    }
    floors.learn({
      topics,
      floors: from,
      heads: end.heads ?? [],
      now: end.now_at,
      tookMicros: end.took ?? 0,
      monotonicMs: clock.monotonic(),
    })
    if (rows.length > 1) wrote({ ring: null, ring_at: null }, 0)
    return rows
  }

  #at(): string | null {
    const { now } = this.#options
    return now === undefined ? null : toMicros(now())
  }
}

function keyColumns(rules: readonly TopicKeyRules[]): readonly unknown[] {
  return [
    rules.map(({ perKey }) => perKey?.concurrency ?? null),
    rules.map(({ perKey }) => perKey?.rate?.intervalMs ?? null),
    rules.map(({ perKey }) => perKey?.rate?.burst ?? null),
    rules.map(({ hasOwn }) => hasOwn),
  ]
}

/** By id: the quick way of `settle_1`. Carried messages are stored in the order given, so then nothing is moved. */
function inOrder(settlements: readonly contract.Settlement[]): number[] {
  const indexes = [...settlements.keys()]
  if (settlements.some((one) => 'followUps' in one)) return indexes
  const idOf = (i: number): string => settlements[i]?.id ?? ''
  return indexes.toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : idOf(a) > idOf(b) ? 1 : a - b))
}
