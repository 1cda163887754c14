/**
 * A model of a store on a server, such as Redis: everything in one place that many processes share, leases handed out
 * ahead of their moment, small batches, wake-ups that are only hints and go to those who watch (`model-watch`). As plain as can be: one map, and a look at all
 * of it whenever something is asked. It passes the conformance suite like every engine.
 */
import type { TopicControl } from '../../src/core/controls.ts'
import { UnavailableError, assertNever } from '../../src/core/errors.ts'
import { MESSAGE_STATES } from '../../src/core/message.ts'
import { admitClaim, admitEntries, admitSettlements } from '../../src/store/shared/admission.ts'
import { FiguresBook } from '../../src/store/shared/figures.ts'
import {
  changeControls,
  changeKeyLimit,
  describeControls,
  type KeyLimits,
} from '../../src/store/shared/controls.ts'
import { followUpsOf } from '../../src/store/contract/sizes.ts'
import { dueAtOf, isStorable, nextAt, nextOfBoth } from '../../src/store/shared/moments.ts'
import { topicsPage } from './topics-page.ts'
import { unsupported } from '../../src/store/shared/unsupported.ts'
import { WorkerList } from '../../src/store/shared/worker-list.ts'
import type * as contract from '../../src/store/contract/store.ts'
import { canBeHad, firstMoment, modelClaim, type ModelClaim } from './model-claim.ts'
import { freshEntry, rememberedMessage, storedMessage, type ModelEntry } from './model-entry.ts'
import { ModelKeys, type KeyPlace } from './model-keys.ts'
import { modelCounts, modelForecast, modelPage, modelTopics } from './model-looking.ts'
import { ModelWatch, type RoomLeft } from './model-watch.ts'

const OWNED_PAGE = 10

export type ModelOptions = {
  readonly batchMax: number
  readonly leadMs: number
  readonly wantsMax?: number
}

export class ModelStore implements contract.Store {
  readonly capabilities: contract.Capabilities
  readonly #now: () => number
  readonly #entries = new Map<string, ModelEntry>()
  /** What is done and remembered, by id. */
  readonly #remembered = new Map<string, contract.StoredMessage>()
  readonly #listeners = new Set<{
    readonly call: (wake: contract.WakeUp) => void
    readonly owner: string | undefined
  }>()
  readonly #watch: ModelWatch
  readonly #workers = new WorkerList()
  readonly #figures = new FiguresBook()
  readonly #controls = new Map<string, TopicControl>()
  readonly #keyLimits: KeyLimits = new Map()
  #keys = new ModelKeys(this.#controls, this.#keyLimits)
  #produced = 0
  #granted = 0
  #deaths = 0
  /** By topic, the latest moment until which a claimer may sleep: what is due before it must wake them. */
  readonly #promisedAt = new Map<string, number>()
  /** Why sleepers must be woken: by topic the moment, and the owner who released, undefined for all other changes. */
  #wakesFor = new Map<string, { readonly dueAt: number; readonly giver: string | undefined }>()
  #isClosed = false

  constructor(now: () => number, { batchMax, leadMs, wantsMax = 1_000 }: ModelOptions) {
    this.#now = now
    this.#watch = new ModelWatch(now, {
      listens: (owner) => [...this.#listeners].some((one) => one.owner === owner),
      ring: (owner) => this.#ring((one) => one === owner),
      ringAll: (but) => this.#ring((one) => but === undefined || one !== but),
    })
    this.capabilities = {
      engine: 'model',
      durability: 'server',
      shared: true,
      wakes: 'some',
      batchMax,
      batchBytesMax: 64 * 1024 * 1024,
      wantsMax,
      leadMs,
      features: ['controls', 'limits', 'keys'],
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

  async remove(
    ids: readonly string[],
    from: 'waiting' | 'dead',
    { isRunningToo = false }: contract.RemoveOptions = {},
  ): Promise<contract.RemoveResult[]> {
    this.#admit(ids.length)
    return this.#changing(() =>
      ids.map((id) => {
        const entry = this.#entries.get(id)
        if (entry?.place === 'running') {
          entry.successor = undefined
          entry.isCancelling ||= isRunningToo
          if (!isRunningToo) return 'running'
          for (const { call } of this.#listeners) call({ kind: 'cancelling' })
          return 'cancelling'
        }
        const isRemembered = this.#isRemembered(id)
        this.#remembered.delete(id)
        if (isRemembered && from === 'dead') return 'removed'
        if (entry?.place !== from) return 'missing'
        this.#entries.delete(id)
        this.#keyMoved(entry, undefined)
        return 'removed'
      }),
    )
  }

  async reschedule(moves: readonly contract.Move[]): Promise<contract.RescheduleResult[]> {
    this.#admit(moves.length)
    return this.#changing(() =>
      moves.map(({ id, when }) => {
        const entry = this.#entries.get(id)
        if (entry === undefined || entry.place === 'dead') return 'missing'
        if (entry.place === 'running') {
          if (entry.successor === undefined) return 'running'
          entry.successor = { ...entry.successor, dueAt: dueAtOf(when, this.#now()) }
          return 'rescheduled'
        }
        this.#setMoment(entry, dueAtOf(when, this.#now()))
        return 'rescheduled'
      }),
    )
  }

  async revive(ids: readonly string[]): Promise<contract.ReviveResult[]> {
    this.#admit(ids.length)
    return this.#changing(() =>
      ids.map((id) => {
        const entry = this.#entries.get(id)
        if (entry?.place !== 'dead') return 'missing'
        entry.attempt = 0
        entry.lapses = 0
        entry.error = ''
        entry.reason = ''
        this.#setMoment(entry, this.#now())
        return 'revived'
      }),
    )
  }

  async claim(request: contract.ClaimRequest): Promise<contract.ClaimReply> {
    this.#admit(0)
    admitClaim(request, this.capabilities)
    return request.from === 'due' ? this.#claimDue(request) : this.#claimLapsed(request)
  }

  async extend(leases: readonly contract.LeaseRef[], leaseMs: number): Promise<contract.ExtendResult[]> {
    this.#admit(leases.length)
    const endsAt = this.#now() + leaseMs
    return leases.map((lease) => {
      const held = this.#heldBy(lease)?.held
      if (held === undefined) return 'lost'
      held.endsAt = endsAt
      return this.#heldBy(lease)?.isCancelling === true ? 'cancelling' : 'extended'
    })
  }

  async settle(settlements: readonly contract.Settlement[]): Promise<contract.SettleResult[]> {
    this.#admit(settlements.length)
    admitSettlements(settlements, this.capabilities.batchMax)
    return this.#changing(() => settlements.map((settlement) => this.#settleOne(settlement)))
  }

  async owned(owner: string, cursor?: string): Promise<contract.OwnedPage> {
    this.#admit(0)
    const after = cursor === undefined ? -1 : Number(cursor)
    const rest = this.#running()
      .filter(({ entry, held }) => held.owner === owner && entry.order > after)
      .toSorted((a, b) => a.entry.order - b.entry.order)
    const page = rest.slice(0, OWNED_PAGE)
    const leases = page.map(({ entry: { message }, held }) => ({
      id: message.id,
      token: held.token,
      topic: message.topic,
      isTakenOver: held.isTakenOver,
    }))
    return rest.length === page.length ? { leases } : { leases, cursor: String(page.at(-1)?.entry.order) }
  }

  async leave(owner: string): Promise<void> {
    this.#admit(0)
    this.#workers.leave(owner, this.#now())
    this.#watch.forgetLooks(owner)
  }

  async workers(): Promise<contract.WorkersReply> {
    this.#admit(0)
    return { now: this.#now(), workers: this.#workers.list(this.#now()) }
  }

  async control(change: contract.ControlChange): Promise<void> {
    this.#admit(0)
    if (change.kind === 'limit' && change.key !== undefined)
      changeKeyLimit(this.#controls, this.#keyLimits, change, this.#now())
    else changeControls(this.#controls, change, this.#now())
    for (const { call } of this.#listeners) call({ kind: 'controls' })
  }

  async controls(): Promise<contract.ControlsReply> {
    this.#admit(0)
    return { now: this.#now(), controls: describeControls(this.#controls, this.#now()) }
  }

  async keys(query: contract.KeysQuery): Promise<contract.KeysPage> {
    this.#admit('keys' in query ? query.keys.length : query.limit)
    return this.#keys.page(query, [...this.#entries.values()], this.#now())
  }

  async record(figures: readonly contract.TopicFigures[]): Promise<void> {
    this.#admit(figures.length)
    this.#figures.record(figures, this.#now())
  }

  async figures(query: contract.FiguresQuery): Promise<contract.FiguresPage> {
    this.#admit(0)
    return this.#figures.read(query, this.#now())
  }

  async inspect(query: contract.InspectQuery): Promise<contract.Page> {
    const now = this.#now()
    if (!('ids' in query)) {
      this.#admit(query.limit)
      return modelPage(this.#entries.values(), query, { now, deaths: this.#deaths })
    }
    this.#admit(query.ids.length)
    const items = query.ids.flatMap((id) => {
      const entry = this.#entries.get(id)
      if (entry !== undefined) return [storedMessage(entry, now)]
      const remembered = this.#isRemembered(id) ? this.#remembered.get(id) : undefined
      return remembered === undefined ? [] : [remembered]
    })
    return { items, scanned: query.ids.length }
  }

  async count(): Promise<contract.Counts> {
    this.#admit(0)
    return modelCounts([...this.#entries.values()], this.#now())
  }

  async countTopics(query: contract.TopicsQuery): Promise<contract.TopicsPage> {
    this.#admit('topics' in query ? query.topics.length : query.limit)
    return topicsPage(modelTopics(this.#entries.values()), query)
  }

  async forecast(query: contract.ForecastQuery): Promise<contract.Forecast> {
    this.#admit(0)
    return modelForecast(this.#entries.values(), query)
  }

  async doctor(): Promise<contract.Finding[]> {
    return [{ level: 'fine', what: `a model; it knows ${MESSAGE_STATES.length} states` }]
  }

  async remembered({ limit, cursor = '' }: contract.RememberedQuery): Promise<contract.Page> {
    this.#admit(limit)
    const rest = [...this.#remembered.values()]
      .filter(({ id }) => this.#isRemembered(id) && id > cursor)
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    const items = rest.slice(0, limit)
    const page = { items, scanned: items.length }
    return rest.length > limit ? { ...page, cursor: items.at(-1)?.id ?? '' } : page
  }

  async restore(messages: readonly contract.RestoredMessage[]): Promise<contract.RestoreResult[]> {
    this.#admit(messages.length)
    return this.#changing(() => messages.map((message) => this.#restoreOne(message)))
  }

  join(): Promise<never> {
    return unsupported('model', 'transactions', 'a model has none')
  }

  backup(): Promise<void> {
    return unsupported('model', 'backup', 'a model lives as long as its test')
  }

  onWake(listener: (wake: contract.WakeUp) => void, owner?: string): () => void {
    const entry = { call: listener, owner }
    this.#listeners.add(entry)
    return () => this.#listeners.delete(entry)
  }

  #putOne(message: contract.NewMessage): contract.PutResult {
    const existing = this.#entries.get(message.id)
    if (message.ifBody !== undefined && existing?.message.body !== message.ifBody) return 'duplicate'
    const isTaken = existing !== undefined || this.#isRemembered(message.id)
    if (isTaken && message.ifExists === 'keep') return 'duplicate'
    if (existing?.place === 'running' && message.ifExists === 'replace') {
      existing.successor = { message, ...this.#momentOf(message, existing.successor?.producedAt) }
      return 'succeeds'
    }
    this.#remembered.delete(message.id)
    this.#place(
      message,
      this.#momentOf(message, existing?.place === 'waiting' ? existing.producedAt : undefined),
    )
    return existing === undefined ? 'stored' : 'replaced'
  }

  #restoreOne(message: contract.RestoredMessage): contract.RestoreResult {
    const { id, state, attempt, lapses, error, reason, dueAt, firstDueAt, producedAt, until } = message
    if (this.#entries.has(id) || this.#isRemembered(id)) return 'taken'
    this.#remembered.delete(id)
    if (state === 'completed') {
      this.#remembered.set(id, { ...message, body: '', meta: '', tags: [], owner: '', leasedAt: 0 })
      return 'restored'
    }
    this.#place({ ...message, when: { at: dueAt }, ifExists: 'keep' }, { dueAt, producedAt })
    const entry = this.#entries.get(id)
    if (entry === undefined) return 'restored'
    Object.assign(entry, { attempt, lapses, error, firstDueAt })
    if (state === 'dead')
      Object.assign(entry, { place: 'dead', reason, diedAt: until, deathsBefore: this.#deaths })
    if (state === 'dead') this.#deaths += 1
    return 'restored'
  }

  #place(
    message: contract.NewMessage,
    moment: { readonly dueAt: number; readonly producedAt: number },
  ): void {
    const entry = freshEntry(message, this.#produced, moment.producedAt)
    this.#produced += 1
    this.#entries.set(message.id, entry)
    this.#setMoment(entry, moment.dueAt)
  }

  /** With a latest moment, what replaces again and again is due at most so long after the first was produced. */
  #momentOf(
    { when, latestMs }: contract.NewMessage,
    replacedAt: number | undefined,
  ): { readonly dueAt: number; readonly producedAt: number } {
    const now = this.#now()
    const producedAt = latestMs === undefined ? now : (replacedAt ?? now)
    return { dueAt: Math.min(dueAtOf(when, now), producedAt + (latestMs ?? Infinity)), producedAt }
  }

  #claimDue(request: contract.ClaimDue): contract.ClaimReply {
    const now = this.#now()
    this.#workers.see(request.owner, request.facts, now)
    const leadMs = Math.min(request.leadMs, this.capabilities.leadMs)
    const claim = modelClaim(this.#entries.values(), this.#controls, this.#keys, { ...request, leadMs }, now)
    const leases = claim.taken.map((entry) => {
      entry.place = 'running'
      entry.isHolding = false
      entry.attempt += 1
      return this.#lease(entry, now, request)
    })
    for (const [topic, control] of claim.charged) this.#controls.set(topic, control)
    for (const [topic, at] of claim.told) this.#promisedAt.set(topic, Math.max(this.#promised(topic), at))
    this.#keys = claim.keys
    this.#keys.prune((place) => this.#isKey(place), now)
    const { limited, keyed } = claim
    const reply = {
      leases,
      ...(limited.length === 0 ? {} : { limited }),
      ...(keyed.length === 0 ? {} : { keyed }),
    }
    if (request.sleeper === undefined) return { ...reply, next: claim.next }
    return { ...reply, ...this.#stand(request, request.sleeper, leases, claim) }
  }

  /** A worker that sleeps takes its places, and is told what it watches. */
  #stand(
    { owner, wants, limit }: contract.ClaimDue,
    sleeper: contract.SleepingAsker,
    leases: readonly contract.Lease[],
    { outlooks, next: nextOfAll }: ModelClaim,
  ): Omit<contract.ClaimReply, 'leases'> {
    const now = this.#now()
    const { fallbackMs, busy } = sleeper
    const topics = wants.map(({ topic }) => topic)
    const set = topics.toSorted().join('\n')
    this.#watch.forgetLooks(owner, set)
    for (const topic of busy) this.#watch.resign(topic, owner, this.#canBeHad(topic))
    let [at, gatedAt] = [Infinity, Infinity]
    for (const [topic, { opensAt, isGated, room: its, asked }] of outlooks) {
      const taken = leases.filter((lease) => lease.topic === topic)
      const hasHead = opensAt < Infinity
      if (taken.length === 0 && !hasHead && !this.#watch.knows(topic)) continue
      const room = roomLeft(its, asked, limit - leases.length, limit)
      // A gate may just have opened: what lay behind it, nobody left lying.
      const lateMs = isGated ? 0 : Math.max(0, ...taken.map(({ latenessMs }) => latenessMs))
      if (!this.#watch.attend({ topic, owner, room, lateMs, hasHead })) continue
      if (isGated) gatedAt = Math.min(gatedAt, opensAt)
      else at = Math.min(at, opensAt)
    }
    if (nextOfAll.state === 'EXPIRED') return { next: nextOfAll }
    const next = nextOfBoth(at, gatedAt, now)
    if (wants.length === 0) return { next }
    const isFull = leases.length === limit
    if (isFull) this.#watch.forgetLooks(owner)
    const isTold = next.state !== 'NO_TASK'
    const lookAt = isFull ? now + fallbackMs : this.#watch.look(set, owner, sleeper, isTold)
    this.#watch.expect(owner, topics, lookAt)
    return { next, lookMs: lookAt - now, lapseMs: this.#lapseMs(owner, lookAt, fallbackMs) }
  }

  /** Those who look within the fallback see to leases that end before their next look, all to those that have. */
  #lapseMs(owner: string, lookAt: number, fallbackMs: number): number {
    const now = this.#now()
    const ends = this.#running().filter(({ held }) => held.endsAt <= now || held.owner !== owner)
    const first = ends[0]?.held.endsAt ?? Infinity
    if (first <= now) return 0
    return first <= lookAt && lookAt <= now + fallbackMs ? first - now : Infinity
  }

  #canBeHad(topic: string): boolean {
    return canBeHad(this.#entries.values(), this.#controls, this.#keys, topic, this.#now())
  }

  #claimLapsed(request: contract.ClaimLapsed): contract.ClaimReply {
    const now = this.#now()
    const others = this.#running().filter(({ held }) => held.owner !== request.owner)
    const lapsed = others.filter(({ held }) => held.endsAt <= now)
    const isOwnLapsed = this.#running().some(({ held }) => held.owner === request.owner && held.endsAt <= now)
    const leases = lapsed.slice(0, request.limit).map(({ entry }) => this.#lease(entry, now, request))
    const next = nextAt(others[leases.length]?.held.endsAt, now)
    return isOwnLapsed ? { leases, next, isOwnLapsed } : { leases, next }
  }

  #lease(entry: ModelEntry, now: number, { owner, leaseMs, from }: contract.ClaimRequest): contract.Lease {
    const { id, topic, body, meta, key, priority } = entry.message
    const { dueAt, firstDueAt, attempt, lapses } = entry
    this.#granted += 1
    const token = String(this.#granted)
    entry.held = { token, owner, since: now, isTakenOver: from === 'lapsed', endsAt: now + leaseMs }
    const latenessMs = now - dueAt
    const keyPart = key === undefined ? {} : { key }
    return {
      id,
      topic,
      body,
      meta,
      ...keyPart,
      priority,
      token,
      dueAt,
      firstDueAt,
      attempt,
      lapses,
      latenessMs,
    }
  }

  #settleOne(settlement: contract.Settlement): contract.SettleResult {
    const entry = this.#heldBy(settlement)
    if (entry === undefined) return 'lost'
    if (!isStorable(settlement)) return 'refused'
    const isOwnWord = settlement.kind === 'ack' && settlement.isOwnWord === true
    const isCancelled = entry.isCancelling && !isOwnWord
    const { successor } = entry
    const giver = settlement.kind === 'release' ? entry.held?.owner : undefined
    if (isCancelled || successor !== undefined) this.#entries.delete(settlement.id)
    else this.#settleHeld(entry, settlement)
    if (!isCancelled) for (const message of followUpsOf(settlement)) this.#putOne(message)
    if (successor !== undefined) this.#place(successor.message, successor)
    this.#keyMoved(entry, giver)
    if (isCancelled) return 'cancelled'
    return successor === undefined || settlement.kind === 'ack' ? 'settled' : 'succeeded'
  }

  #settleHeld(entry: ModelEntry, settlement: contract.Settlement): void {
    const owner = entry.held?.owner
    this.#noteFreed(entry.message.topic, settlement.kind === 'release' ? owner : undefined)
    entry.held = undefined
    switch (settlement.kind) {
      case 'ack':
        this.#entries.delete(settlement.id)
        if (settlement.remember !== undefined)
          this.#remembered.set(settlement.id, rememberedMessage(entry, settlement.remember, this.#now()))
        break
      case 'again':
        entry.attempt -= 1
        if (settlement.keepsLapses !== true) entry.lapses = 0
        entry.message = { ...entry.message, ...settlement.content }
        this.#setMoment(entry, dueAtOf(settlement.when, this.#now()))
        break
      case 'retry':
        entry.error = settlement.error
        entry.lapses = settlement.isLapse === true ? entry.lapses + 1 : 0
        this.#hold(entry)
        this.#wait(entry, this.#now() + settlement.delayMs)
        break
      case 'lapse':
        entry.error = settlement.error
        entry.lapses += 1
        this.#hold(entry)
        this.#wait(entry, entry.dueAt)
        break
      case 'release':
        entry.attempt -= 1
        this.#wait(entry, entry.dueAt, owner)
        break
      case 'dead':
        entry.place = 'dead'
        entry.error = settlement.error
        entry.reason = settlement.reason
        entry.diedAt = this.#now()
        entry.deathsBefore = this.#deaths
        this.#deaths += 1
        break
      default:
        assertNever(settlement)
    }
  }

  #isRemembered(id: string): boolean {
    return (this.#remembered.get(id)?.until ?? 0) > this.#now()
  }

  /** One that runs ends. At its limit, that lets another one start. */
  #noteFreed(topic: string, releasedBy: string | undefined): void {
    const running = this.#running().filter(({ entry }) => entry.message.topic === topic).length
    if (running === this.#controls.get(topic)?.limit.concurrency) this.#wakeFor(topic, -Infinity, releasedBy)
  }

  #isKey({ topic, key }: KeyPlace): boolean {
    const all = [...this.#entries.values()]
    return all.some(
      ({ message, place }) => message.topic === topic && message.key === key && place !== 'dead',
    )
  }

  /** By our doing it waits again: a serial key waits for it. */
  #hold(entry: ModelEntry): void {
    const { topic, key } = entry.message
    entry.isHolding = key !== undefined && this.#keys.isSerial({ topic, key })
  }

  /** Something of its key came, went or ended: another one may have come to its turn. */
  #keyMoved({ message: { topic, key } }: ModelEntry, releasedBy: string | undefined): void {
    if (key === undefined) return
    const its = [...this.#entries.values()].filter(({ message }) => message.key === key)
    const at = firstMoment(its, this.#keys, topic, this.#now()) ?? Infinity
    if (at >= this.#promised(topic)) return
    this.#wakeFor(topic, at, releasedBy)
    if (releasedBy === undefined) this.#promisedAt.set(topic, at)
  }

  #setMoment(entry: ModelEntry, dueAt: number): void {
    entry.firstDueAt = dueAt
    entry.isHolding = false
    this.#wait(entry, dueAt)
  }

  #wait(entry: ModelEntry, dueAt: number, releasedBy?: string): void {
    const { topic, key } = entry.message
    const isBack = entry.place === 'running'
    entry.place = 'waiting'
    entry.dueAt = dueAt
    if (key !== undefined) {
      const others = [...this.#entries.values()].filter(
        (one) =>
          one !== entry && one.message.topic === topic && one.message.key === key && one.place !== 'dead',
      )
      if (!isBack) this.#keys.entered({ topic, key }, entry, others.length, this.#now())
      return this.#keyMoved(entry, releasedBy)
    }
    if (dueAt >= this.#promised(topic)) return
    this.#wakeFor(topic, dueAt, releasedBy)
    // One that released is not woken, and still sleeps as long as it was told.
    if (releasedBy === undefined) this.#promisedAt.set(topic, dueAt)
  }

  #wakeFor(topic: string, dueAt: number, releasedBy: string | undefined): void {
    const known = this.#wakesFor.get(topic)
    const giver = known === undefined || known.giver === releasedBy ? releasedBy : undefined
    this.#wakesFor.set(topic, { dueAt: Math.min(dueAt, known?.dueAt ?? Infinity), giver })
  }

  #promised(topic: string): number {
    return this.#promisedAt.get(topic) ?? Infinity
  }

  #changing<T>(change: () => T): T {
    const result = change()
    const causes = this.#wakesFor
    this.#wakesFor = new Map()
    for (const [topic, { dueAt, giver }] of causes) this.#watch.wake(topic, dueAt, giver)
    return result
  }

  /** Returns whether anybody heard it. */
  #ring(isMeant: (owner: string | undefined) => boolean): boolean {
    const meant = [...this.#listeners].filter(({ owner }) => isMeant(owner))
    for (const { call } of meant) call({ kind: 'due' })
    return meant.length > 0
  }

  /** By the end of their leases. */
  #running(): { readonly entry: ModelEntry; readonly held: NonNullable<ModelEntry['held']> }[] {
    return [...this.#entries.values()]
      .flatMap((entry) => (entry.held === undefined ? [] : [{ entry, held: entry.held }]))
      .toSorted((a, b) => a.held.endsAt - b.held.endsAt)
  }

  #heldBy({ id, token }: contract.LeaseRef): ModelEntry | undefined {
    const entry = this.#entries.get(id)
    return entry?.held?.token === token ? entry : undefined
  }

  #admit(entries: number): void {
    if (this.#isClosed) throw new UnavailableError('STORE_CLOSED', 'the model is closed; make a new one.')
    admitEntries(entries, this.capabilities.batchMax)
  }
}

function roomLeft(its: number, asked: number, all: number, limit: number): RoomLeft {
  if (its === 0 || all === 0) return 'none'
  return 2 * its >= asked && 2 * all >= limit ? 'enough' : 'some'
}
