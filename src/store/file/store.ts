/**
 * The file engine: one directory, one LMDB tree (its keys: `keys.ts`), shared by the processes of one machine.
 *
 *   verb ─► committer ─► one transaction for all who wait ─► disk ─► all of them resolve ─► sleepers woken
 *   look ─► a snapshot, on the spot
 *
 * Every verb that changes something resolves after its change is on the disk, claims included: an attempt that
 * was handed out is counted even if the machine dies the next moment. A claim that finds nothing to do answers
 * from a snapshot and writes nothing, so idle workers never compete for the lock.
 *
 * Time is the wall clock, which all processes of a machine share. It may be set back: what was due may be delayed
 * again, leases last longer, nothing breaks, because neither order nor tokens are made of time. Holding on to the
 * latest time seen would be worse: after a clock that was a year ahead, the queue would stand still for a year.
 */
import { assertNever } from '../../core/errors.ts'
import type * as contract from '../contract/store.ts'
import type { StoreContext } from '../engine.ts'
import { admitEntries } from '../shared/admission.ts'
import { topicsPage } from '../shared/topics-page.ts'
import { FeaturelessStore } from '../shared/unsupported.ts'
import { backupTo } from './backup.ts'
import { checkup } from './checkup.ts'
import { closedError } from './committer.ts'
import { moveMarks } from './counting.ts'
import {
  CLOSE_MS_MAX,
  acquireEnvironment,
  releaseEnvironment,
  type Environment,
  type SyncMode,
} from './environment.ts'
import { explainFailure } from './failure.ts'
import { count, inspectIds, inspectPage, topicNamed, type View } from './inspection.ts'
import { claimDue, claimLapsed, extendOne, nextDue, nextLapse, settleOne } from './leasing.ts'
import { endsWithin, systemClock } from '../../clock.ts'
import { putOne, removeOne, rescheduleOne, reviveOne, type Scene } from './placing.ts'
import { Room } from './room.ts'
import type { WakeChannel } from './wake.ts'

const BATCH_MAX = 1000
/** Half of it is longer than the commit under way and our own take on an ordinary disk: no handler is late for a sync. */
const LEAD_MS = 20

export type FileStoreOptions = { readonly directory: string; readonly sync: SyncMode }

type Opened = {
  readonly environment: Environment
  readonly queue: number
  readonly channel: WakeChannel
  readonly room: Room
}

type Call = { readonly end: Promise<unknown>; readonly giveUp: () => void }

export class FileStore extends FeaturelessStore implements contract.Store {
  protected readonly engine = 'file'
  readonly capabilities: contract.Capabilities = {
    engine: 'file',
    durability: 'disk',
    shared: true,
    wakes: 'hint',
    batchMax: BATCH_MAX,
    batchBytesMax: 16 * 1024 * 1024,
    wantsMax: BATCH_MAX,
    leadMs: LEAD_MS,
    features: ['backup'],
  }

  readonly #options: FileStoreOptions
  readonly #context: StoreContext
  readonly #endings = new Set<() => void>()
  readonly #underWay = new Set<Call>()
  #opening: Promise<Opened> | undefined
  #opened: Opened | undefined
  #closing: Promise<void> | undefined

  constructor(options: FileStoreOptions, context: StoreContext) {
    super()
    this.#options = options
    this.#context = context
  }

  async open(): Promise<void> {
    if (this.#closing !== undefined) throw closedError()
    this.#opening ??= this.#openOnce()
    try {
      this.#opened = await this.#opening
    } catch (error) {
      // What was in the way may be gone when it is tried again.
      this.#opening = undefined
      throw error
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeOnce()
    return this.#closing
  }

  async put(messages: readonly contract.NewMessage[]): Promise<contract.PutResult[]> {
    this.#admit(messages.length)
    if (messages.length > 0) this.#use().room.admit(messages)
    return this.#commitEach(messages, putOne)
  }

  remove(ids: readonly string[], from: 'waiting' | 'dead'): Promise<contract.RemoveResult[]> {
    return this.#commitEach(ids, (scene, id) => removeOne(scene, id, from))
  }

  reschedule(moves: readonly contract.Move[]): Promise<contract.RescheduleResult[]> {
    return this.#commitEach(moves, rescheduleOne)
  }

  async claim(request: contract.ClaimRequest): Promise<contract.ClaimReply> {
    const limit = Math.min(request.limit, BATCH_MAX)
    const next = await this.#look((view) => nextFor(view, request))
    if (next.state !== 'EXPIRED' || limit === 0) return { leases: [], next }
    return this.#commit(limit, (scene) =>
      request.from === 'due'
        ? claimDue(scene, { ...request, limit })
        : claimLapsed(scene, { ...request, limit }),
    )
  }

  extend(leases: readonly contract.LeaseRef[], leaseMs: number): Promise<contract.ExtendResult[]> {
    return this.#commitEach(leases, (scene, lease) => extendOne(scene, lease, leaseMs))
  }

  settle(settlements: readonly contract.Settlement[]): Promise<contract.SettleResult[]> {
    return this.#commitEach(settlements, settleOne)
  }

  revive(ids: readonly string[]): Promise<contract.ReviveResult[]> {
    return this.#commitEach(ids, reviveOne)
  }

  async inspect(query: contract.InspectQuery): Promise<contract.Page> {
    this.#admit('ids' in query ? query.ids.length : query.limit)
    return this.#look((view) => ('ids' in query ? inspectIds(view, query.ids) : inspectPage(view, query)))
  }

  async count(): Promise<contract.Counts> {
    const { environment, queue } = this.#use()
    await this.#explained(() => moveMarks(environment, queue, () => this.#now()))
    const { topics: _topics, ...counts } = await this.#look(count)
    return counts
  }

  async countTopics(query: contract.TopicsQuery): Promise<contract.TopicsPage> {
    return topicsPage((await this.#look(count)).topics, query)
  }

  async doctor(): Promise<contract.Finding[]> {
    const { environment, channel } = this.#use()
    return this.#explained(() => checkup(environment, channel, () => this.#view()))
  }

  /**
   * Writes a copy of the whole directory, all queues in it included, into `directory`, which must be empty or new.
   * Safe while others read and write: the copy is of one moment.
   */
  override async backup(directory: string): Promise<void> {
    await backupTo(this.#use().environment, directory)
  }

  onWake(listener: () => void): () => void {
    const end = this.#use().channel.listen(listener)
    this.#endings.add(end)
    return () => {
      end()
      this.#endings.delete(end)
    }
  }

  async #openOnce(): Promise<Opened> {
    const { directory, sync } = this.#options
    const environment = await acquireEnvironment(directory, sync, this.#context.logger)
    try {
      const queue = await environment.queueNumber(this.#context.queue)
      const channel = await environment.channel(queue)
      return { environment, queue, channel, room: new Room(environment, this.#context.clock) }
    } catch (error) {
      await releaseEnvironment(environment)
      throw await explainFailure(error, environment.directory)
    }
  }

  async #closeOnce(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined)
    this.#opened = undefined
    for (const end of this.#endings) end()
    const calls = [...this.#underWay]
    if (!(await endsWithin(systemClock, CLOSE_MS_MAX, Promise.allSettled(calls.map(({ end }) => end))))) {
      for (const { giveUp } of calls) giveUp()
    }
    if (opened !== undefined) await releaseEnvironment(opened.environment)
  }

  async #commitEach<E, R>(entries: readonly E[], act: (scene: Scene, entry: E) => R): Promise<R[]> {
    if (entries.length === 0) {
      this.#use()
      return []
    }
    return this.#commit(entries.length, (scene) => entries.map((entry) => act(scene, entry)))
  }

  async #commit<T>(entries: number, act: (scene: Scene) => T): Promise<T> {
    this.#admit(entries)
    const { environment, queue } = this.#use()
    return this.#watch(
      environment.committer.commit(entries, (ledger) => act({ ledger, queue, now: this.#now() })),
    )
  }

  /** Hands on the outcome of a call, or STORE_CLOSED if the store closes and the outcome does not come. */
  #watch<T>(outcome: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const call: Call = { end: outcome, giveUp: () => reject(closedError()) }
      this.#underWay.add(call)
      outcome.then(resolve, reject).finally(() => this.#underWay.delete(call))
    })
  }

  async #look<T>(read: (view: View) => T): Promise<T> {
    return this.#explained(() => read(this.#view()))
  }

  /** Whatever the library throws on the way leaves as one of our errors. */
  async #explained<T>(read: () => T | Promise<T>): Promise<T> {
    try {
      return await read()
    } catch (error) {
      throw await explainFailure(error, this.#options.directory)
    }
  }

  /** A fresh snapshot, good until the next turn of the event loop. */
  #view(): View {
    const { environment, queue } = this.#use()
    environment.tree.refresh()
    return { tree: environment.tree, queue, now: this.#now() }
  }

  #use(): Opened {
    if (this.#opened === undefined || this.#closing !== undefined) throw closedError()
    return this.#opened
  }

  #now(): number {
    return Math.floor(this.#context.clock.now())
  }

  #admit(entries: number): void {
    admitEntries(entries, BATCH_MAX)
  }
}

function nextFor(view: View, request: contract.ClaimRequest): contract.Next {
  switch (request.from) {
    case 'due': {
      const topics = request.wants.flatMap(({ topic }) => topicNamed(view, topic) ?? [])
      return nextDue(view.tree, topics, request.leadMs, view.now)
    }
    case 'lapsed':
      return nextLapse(view.tree, view.queue, view.now)
    default:
      return assertNever(request)
  }
}
