/**
 * A model of a store on a server, such as Redis: everything in one place that many processes share, leases handed out
 * ahead of their moment, small batches, wake-ups that are only hints. As plain as can be: one map, and a look at all
 * of it whenever something is asked. It passes the conformance suite like every engine.
 */
import { UnavailableError, UsageError, assertNever } from '../../src/core/errors.ts'
import { MESSAGE_STATES, type MessageState } from '../../src/core/message.ts'
import { admitEntries } from '../../src/store/shared/admission.ts'
import { topicsPage } from '../../src/store/shared/topics-page.ts'
import { FeaturelessStore } from '../../src/store/shared/unsupported.ts'
import type * as contract from '../../src/store/contract/store.ts'

type Held = { readonly token: string; endsAt: number }

type Entry = {
  readonly message: contract.NewMessage
  readonly order: number
  place: 'waiting' | 'running' | 'dead'
  dueAt: number
  attempt: number
  held: Held | undefined
  error: string
  reason: string
  diedAt: number
}

export class ModelStore extends FeaturelessStore implements contract.Store {
  protected readonly engine = 'model'
  readonly capabilities: contract.Capabilities
  readonly #now: () => number
  readonly #entries = new Map<string, Entry>()
  readonly #listeners = new Set<() => void>()
  #produced = 0
  #granted = 0
  /** The latest moment until which a claimer may sleep: what is due before it must wake them. */
  #promisedAt = Infinity
  #mustWake = false
  #isClosed = false
  #topicCounts: Readonly<Record<string, contract.TopicCounts>> = {}

  constructor(now: () => number, { batchMax, leadMs }: { batchMax: number; leadMs: number }) {
    super()
    this.#now = now
    this.capabilities = {
      engine: 'model',
      durability: 'server',
      shared: true,
      wakes: 'hint',
      batchMax,
      batchBytesMax: 64 * 1024 * 1024,
      wantsMax: batchMax,
      leadMs,
      features: [],
    }
  }

  async open(): Promise<void> {}

  async close(): Promise<void> {
    this.#isClosed = true
    this.#listeners.clear()
  }

  async put(messages: readonly contract.NewMessage[]): Promise<contract.PutResult[]> {
    this.#admit(messages.length)
    return this.#changing(() => messages.map((message) => this.#putOne(message)))
  }

  async remove(ids: readonly string[], from: 'waiting' | 'dead'): Promise<contract.RemoveResult[]> {
    this.#admit(ids.length)
    return ids.map((id) => {
      const entry = this.#entries.get(id)
      if (entry?.place === 'running') return 'running'
      if (entry?.place !== from) return 'missing'
      this.#entries.delete(id)
      return 'removed'
    })
  }

  async reschedule(moves: readonly contract.Move[]): Promise<contract.RescheduleResult[]> {
    this.#admit(moves.length)
    return this.#changing(() =>
      moves.map(({ id, when }) => {
        const entry = this.#entries.get(id)
        if (entry === undefined || entry.place === 'dead') return 'missing'
        if (entry.place === 'running') return 'running'
        this.#wait(entry, this.#dueAt(when))
        return 'rescheduled'
      }),
    )
  }

  async claim(request: contract.ClaimRequest): Promise<contract.ClaimReply> {
    this.#admit(request.limit)
    return request.from === 'due' ? this.#claimDue(request) : this.#claimLapsed(request)
  }

  async extend(leases: readonly contract.LeaseRef[], leaseMs: number): Promise<contract.ExtendResult[]> {
    this.#admit(leases.length)
    const endsAt = this.#now() + leaseMs
    return leases.map((lease) => {
      const held = this.#heldBy(lease)?.held
      if (held === undefined) return 'lost'
      held.endsAt = endsAt
      return 'extended'
    })
  }

  async settle(settlements: readonly contract.Settlement[]): Promise<contract.SettleResult[]> {
    this.#admit(settlements.length)
    return this.#changing(() => settlements.map((settlement) => this.#settleOne(settlement)))
  }

  async revive(ids: readonly string[]): Promise<contract.ReviveResult[]> {
    this.#admit(ids.length)
    return this.#changing(() =>
      ids.map((id) => {
        const entry = this.#entries.get(id)
        if (entry?.place !== 'dead') return 'missing'
        entry.attempt = 0
        entry.error = ''
        entry.reason = ''
        this.#wait(entry, this.#now())
        return 'revived'
      }),
    )
  }

  async inspect(query: contract.InspectQuery): Promise<contract.Page> {
    if ('ids' in query) {
      this.#admit(query.ids.length)
      const found = query.ids.map((id) => this.#entries.get(id)).filter((entry) => entry !== undefined)
      return { items: found.map((entry) => this.#stored(entry)), scanned: found.length }
    }
    this.#admit(query.limit)
    const { state, topic, limit, cursor } = query
    const from = cursor === undefined ? -1 : parseCursor(cursor)
    const rest = [...this.#entries.values()]
      .filter((entry) => entry.order > from && this.#stateOf(entry) === state)
      .filter(({ message }) => topic === undefined || message.topic === topic)
      .toSorted((a, b) => a.order - b.order)
    const page = rest.slice(0, limit)
    const last = page.at(-1)
    const items = page.map((entry) => this.#stored(entry))
    const scanned = rest.length
    if (rest.length === page.length || last === undefined) return { items, scanned }
    return { items, scanned, cursor: String(last.order) }
  }

  async count(): Promise<contract.Counts> {
    this.#admit(0)
    const states = { delayed: 0, ready: 0, running: 0, dead: 0 }
    const topics = new Map<string, { waiting: number; running: number; dead: number }>()
    let nextDueAt = Infinity
    for (const entry of this.#entries.values()) {
      states[this.#stateOf(entry)] += 1
      const counts = topics.get(entry.message.topic) ?? { waiting: 0, running: 0, dead: 0 }
      topics.set(entry.message.topic, counts)
      counts[entry.place] += 1
      if (entry.place === 'waiting') nextDueAt = Math.min(nextDueAt, entry.dueAt)
    }
    this.#topicCounts = Object.fromEntries(topics)
    return { states, isExact: true, ...(nextDueAt === Infinity ? {} : { nextDueAt }) }
  }

  async countTopics(query: contract.TopicsQuery): Promise<contract.TopicsPage> {
    await this.count()
    return topicsPage(this.#topicCounts, query)
  }

  async doctor(): Promise<contract.Finding[]> {
    return [{ level: 'fine', what: `a model; it knows ${MESSAGE_STATES.length} states` }]
  }

  onWake(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #putOne(message: contract.NewMessage): contract.PutResult {
    const existing = this.#entries.get(message.id)
    if (existing !== undefined && message.ifExists === 'keep') return 'duplicate'
    if (existing?.place === 'running') return 'running'
    const entry: Entry = {
      message,
      order: this.#produced,
      place: 'waiting',
      dueAt: 0,
      attempt: 0,
      held: undefined,
      error: '',
      reason: '',
      diedAt: 0,
    }
    this.#produced += 1
    this.#entries.set(message.id, entry)
    this.#wait(entry, this.#dueAt(message.when))
    return existing === undefined ? 'stored' : 'replaced'
  }

  #claimDue({ wants, limit, leaseMs, leadMs }: contract.ClaimDue): contract.ClaimReply {
    const now = this.#now()
    const until = now + Math.min(leadMs, this.capabilities.leadMs)
    const left = new Map(wants.map((want) => [want.topic, want.limit]))
    const leases: contract.Lease[] = []
    for (const entry of this.#waiting(until).toSorted((a, b) => byTurn(a, b, wants))) {
      const room = left.get(entry.message.topic) ?? 0
      if (room === 0 || leases.length === limit) continue
      left.set(entry.message.topic, room - 1)
      entry.place = 'running'
      entry.attempt += 1
      leases.push(this.#lease(entry, now, leaseMs))
    }
    const isMoreDue = this.#waiting(until).some(({ message }) => left.has(message.topic))
    return { leases, next: isMoreDue ? { state: 'EXPIRED' } : this.#promise(until) }
  }

  #claimLapsed({ limit, leaseMs }: contract.ClaimLapsed): contract.ClaimReply {
    const now = this.#now()
    const lapsed = this.#running().filter(({ endsAt }) => endsAt <= now)
    const leases = lapsed.slice(0, limit).map(({ entry }) => this.#lease(entry, now, leaseMs))
    const first = this.#running()[0]
    if (first === undefined) return { leases, next: { state: 'NO_TASK' } }
    if (first.endsAt <= now) return { leases, next: { state: 'EXPIRED' } }
    return { leases, next: { state: 'WAITING', ms: first.endsAt - now } }
  }

  #lease(entry: Entry, now: number, leaseMs: number): contract.Lease {
    const { id, topic, body, meta, priority } = entry.message
    this.#granted += 1
    entry.held = { token: String(this.#granted), endsAt: now + leaseMs }
    return {
      id,
      topic,
      body,
      meta,
      priority,
      token: entry.held.token,
      dueAt: entry.dueAt,
      firstDueAt: entry.dueAt,
      lapses: 0,
      attempt: entry.attempt,
      latenessMs: now - entry.dueAt,
    }
  }

  #settleOne(settlement: contract.Settlement): contract.SettleResult {
    const entry = this.#heldBy(settlement)
    if (entry === undefined) return 'lost'
    entry.held = undefined
    switch (settlement.kind) {
      case 'ack':
        this.#entries.delete(settlement.id)
        break
      case 'retry':
        entry.error = settlement.error
        this.#wait(entry, this.#now() + settlement.delayMs)
        break
      case 'lapse':
        entry.error = settlement.error
        this.#wait(entry, entry.dueAt)
        break
      case 'release':
        entry.attempt -= 1
        this.#wait(entry, entry.dueAt)
        break
      case 'dead':
        entry.place = 'dead'
        entry.error = settlement.error
        entry.reason = settlement.reason
        entry.diedAt = this.#now()
        break
      default:
        return assertNever(settlement)
    }
    return 'settled'
  }

  #wait(entry: Entry, dueAt: number): void {
    entry.place = 'waiting'
    entry.dueAt = dueAt
    if (dueAt >= this.#promisedAt) return
    this.#promisedAt = dueAt
    this.#mustWake = true
  }

  /** Tells a claimer how long it may sleep, and remembers it. `until`: what is due up to there it has or does not want. */
  #promise(until: number): contract.Next {
    const later = [...this.#entries.values()].filter(
      ({ place, dueAt }) => place === 'waiting' && dueAt > until,
    )
    const at = later.reduce((earliest, { dueAt }) => Math.min(earliest, dueAt), Infinity)
    this.#promisedAt = Math.max(this.#promisedAt, at)
    return at === Infinity ? { state: 'NO_TASK' } : { state: 'WAITING', ms: at - until }
  }

  #changing<T>(change: () => T): T {
    const result = change()
    if (this.#mustWake) for (const listener of this.#listeners) listener()
    this.#mustWake = false
    return result
  }

  #waiting(until: number): Entry[] {
    return [...this.#entries.values()].filter(({ place, dueAt }) => place === 'waiting' && dueAt <= until)
  }

  /** By the end of their leases. */
  #running(): { entry: Entry; endsAt: number }[] {
    const running: { entry: Entry; endsAt: number }[] = []
    for (const entry of this.#entries.values())
      if (entry.held !== undefined) running.push({ entry, endsAt: entry.held.endsAt })
    return running.toSorted((a, b) => a.endsAt - b.endsAt)
  }

  #heldBy({ id, token }: contract.LeaseRef): Entry | undefined {
    const entry = this.#entries.get(id)
    return entry?.held?.token === token ? entry : undefined
  }

  #dueAt(when: contract.DueTime): number {
    return 'at' in when ? when.at : this.#now() + when.delayMs
  }

  #stateOf({ place, dueAt }: Entry): MessageState {
    if (place !== 'waiting') return place
    return dueAt <= this.#now() ? 'ready' : 'delayed'
  }

  #stored(entry: Entry): contract.StoredMessage {
    const { id, topic, body, meta, priority } = entry.message
    const { dueAt, attempt, error, reason, held, diedAt } = entry
    const until = held?.endsAt ?? (entry.place === 'dead' ? diedAt : 0)
    return {
      id,
      topic,
      body,
      meta,
      priority,
      state: this.#stateOf(entry),
      dueAt,
      firstDueAt: dueAt,
      producedAt: 0,
      lapses: 0,
      owner: '',
      attempt,
      error,
      reason,
      until,
    }
  }

  #admit(entries: number): void {
    if (this.#isClosed) throw new UnavailableError('STORE_CLOSED', 'the model is closed; make a new one.')
    admitEntries(entries, this.capabilities.batchMax)
  }
}

/** The order of the last message on the page before. */
function parseCursor(cursor: string): number {
  if (/^\d+$/.test(cursor)) return Number(cursor)
  throw new UsageError('CURSOR_INVALID', `cursor is "${cursor}"; give the cursor of the page before.`, {
    value: cursor,
  })
}

/** Higher priority first; among equals the order of the wants, then of the moments, then of producing. */
function byTurn(a: Entry, b: Entry, wants: readonly contract.Want[]): number {
  const place = ({ message }: Entry): number => wants.findIndex(({ topic }) => topic === message.topic)
  return (
    a.message.priority - b.message.priority || place(a) - place(b) || a.dueAt - b.dueAt || a.order - b.order
  )
}
