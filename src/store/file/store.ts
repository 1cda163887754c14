/**
 * The file engine as its callers hold it: one directory, one SQLite file, shared by the processes of one machine. The
 * work is done on a thread (`on-thread.ts`); this side counts entries and bytes, and hears wake-ups.
 *
 *   verb ─► message to the thread ─► one transaction for all who wait ─► disk ─► all of them resolve, sleepers woken
 */
import { systemClock } from '../../clock.ts'
import { entriesOfSettlement, sizeOfMessage, sizeOfRestored, sizeOfSettlement } from '../contract/sizes.ts'
import type * as contract from '../contract/store.ts'
import type { StoreContext } from '../engine.ts'
import { admitClaim, admitEntries, admitSettlements } from '../shared/admission.ts'
import { checkEdges } from '../shared/forecast.ts'
import { unsupported } from '../shared/unsupported.ts'
import type { CallRequest } from '../thread/proxy.ts'
import type { SyncMode } from './directory.ts'
import { isWatchingFinding, worstFirst } from './doctor/findings.ts'
import { closedError } from './failure.ts'
import { makeDirectory } from './make-directory.ts'
import { acquireThread, callAside, releaseThread, type FileThread } from './threads.ts'
import { WakeChannel } from './wake.ts'

const BATCH_MAX = 1000
const BATCH_BYTES_MAX = 16 * 1024 * 1024
/** Half of it is longer than the commit under way and our own take on an ordinary disk: no handler is late for a sync. */
const LEAD_MS = 20

export type FileStoreOptions = { readonly directory: string; readonly sync: SyncMode }

type Opened = { readonly thread: FileThread; readonly channel: WakeChannel }

export class FileStore implements contract.Store {
  readonly capabilities: contract.Capabilities = {
    engine: 'file',
    durability: 'disk',
    shared: true,
    wakes: 'hint',
    batchMax: BATCH_MAX,
    batchBytesMax: BATCH_BYTES_MAX,
    wantsMax: BATCH_MAX,
    leadMs: LEAD_MS,
    features: ['controls', 'limits', 'backup', 'keys'],
  }

  readonly #options: FileStoreOptions
  readonly #context: StoreContext
  #opening: Promise<Opened> | undefined
  #opened: Opened | undefined
  #closing: Promise<void> | undefined

  constructor(options: FileStoreOptions, context: StoreContext) {
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
    return this.#each('put', messages, [], sumOf(messages, sizeOfMessage))
  }

  remove(
    ids: readonly string[],
    from: 'waiting' | 'dead',
    options?: contract.RemoveOptions,
  ): Promise<contract.RemoveResult[]> {
    return this.#each('remove', ids, [from, options])
  }

  reschedule(moves: readonly contract.Move[]): Promise<contract.RescheduleResult[]> {
    return this.#each('reschedule', moves)
  }

  revive(ids: readonly string[]): Promise<contract.ReviveResult[]> {
    return this.#each('revive', ids)
  }

  async claim(request: contract.ClaimRequest): Promise<contract.ClaimReply> {
    admitClaim(request, this.capabilities)
    return this.#call('claim', [request], request.limit)
  }

  extend(leases: readonly contract.LeaseRef[], leaseMs: number): Promise<contract.ExtendResult[]> {
    return this.#each('extend', leases, [leaseMs])
  }

  async settle(settlements: readonly contract.Settlement[]): Promise<contract.SettleResult[]> {
    admitEntries(settlements.length, BATCH_MAX)
    admitSettlements(settlements, BATCH_MAX)
    this.#use()
    if (settlements.length === 0) return []
    const entries = sumOf(settlements, entriesOfSettlement)
    return this.#call('settle', [settlements], entries, sumOf(settlements, sizeOfSettlement))
  }

  owned(owner: string, cursor?: string): Promise<contract.OwnedPage> {
    return this.#call('owned', [owner, cursor])
  }

  leave(owner: string): Promise<void> {
    return this.#call('leave', [owner])
  }

  async record(figures: readonly contract.TopicFigures[]): Promise<void> {
    admitEntries(figures.length, BATCH_MAX)
    return this.#call('record', [figures], figures.length)
  }

  figures(query: contract.FiguresQuery): Promise<contract.FiguresPage> {
    return this.#call('figures', [query])
  }

  workers(): Promise<contract.WorkersReply> {
    return this.#call('workers', [])
  }

  async control(change: contract.ControlChange): Promise<void> {
    return this.#call('control', [change])
  }

  controls(): Promise<contract.ControlsReply> {
    return this.#call('controls', [])
  }

  async keys(query: contract.KeysQuery): Promise<contract.KeysPage> {
    admitEntries('keys' in query ? query.keys.length : query.limit, BATCH_MAX)
    return this.#call('keys', [query])
  }

  async inspect(query: contract.InspectQuery): Promise<contract.Page> {
    admitEntries('ids' in query ? query.ids.length : query.limit, BATCH_MAX)
    return this.#call('inspect', [query])
  }

  count(): Promise<contract.Counts> {
    return this.#call('count', [])
  }

  async countTopics(query: contract.TopicsQuery): Promise<contract.TopicsPage> {
    admitEntries('topics' in query ? query.topics.length : query.limit, BATCH_MAX)
    return this.#call('countTopics', [query])
  }

  async forecast(query: contract.ForecastQuery): Promise<contract.Forecast> {
    checkEdges(query.edges)
    return this.#call('forecast', [query])
  }

  async remembered(query: contract.RememberedQuery): Promise<contract.Page> {
    admitEntries(query.limit, BATCH_MAX)
    return this.#call('remembered', [query])
  }

  async restore(messages: readonly contract.RestoredMessage[]): Promise<contract.RestoreResult[]> {
    return this.#each('restore', messages, [], sumOf(messages, sizeOfRestored))
  }

  async doctor(): Promise<contract.Finding[]> {
    const { thread, channel } = this.#use()
    const findings = await callAside<contract.Finding[]>(thread, this.#context.queue, 'doctor', [])
    return worstFirst([...findings, ...isWatchingFinding(thread.directory, channel.isWatching)])
  }

  /**
   * Writes a copy of the whole directory, all queues in it included, into `directory`, which must be empty or new.
   * Safe while others read and write: the copy is of one moment.
   */
  async backup(directory: string): Promise<void> {
    const { thread } = this.#use()
    await makeDirectory(directory)
    await callAside(thread, this.#context.queue, 'backup', [directory])
  }

  join(): Promise<never> {
    return unsupported('file', 'transactions', 'keep the messages in the SQL database of your transactions')
  }

  onWake(listener: (wake: contract.WakeUp) => void, owner?: string): () => void {
    return this.#use().channel.listen(listener, owner)
  }

  async #openOnce(): Promise<Opened> {
    const { directory, sync } = this.#options
    const thread = await acquireThread(directory, sync)
    try {
      await thread.engine.call(this, this.#request('open', [], 1, 0))
      const channel = new WakeChannel(thread.directory, this.#context.queue, this.#context.logger)
      thread.channels.add(channel)
      return { thread, channel }
    } catch (error) {
      await releaseThread(thread, this)
      throw error
    }
  }

  async #closeOnce(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined)
    this.#opened = undefined
    if (opened === undefined) return
    opened.channel.close()
    opened.thread.channels.delete(opened.channel)
    await releaseThread(opened.thread, this)
  }

  async #each<R>(
    verb: string,
    entries: readonly unknown[],
    rest: readonly unknown[] = [],
    bytes = 0,
  ): Promise<R[]> {
    admitEntries(entries.length, BATCH_MAX)
    this.#use()
    if (entries.length === 0) return []
    return this.#call<R[]>(verb, [entries, ...rest], entries.length, bytes)
  }

  async #call<R>(verb: string, args: readonly unknown[], entries = 1, bytes = 0): Promise<R> {
    const { thread } = this.#use()
    return thread.engine.call<R>(this, this.#request(verb, args, entries, bytes))
  }

  #request(verb: string, args: readonly unknown[], entries: number, bytes: number): CallRequest {
    const { queue, clock } = this.#context
    // The system's clock is the same on the thread, and read there it is fresh.
    const now = clock === systemClock ? undefined : clock.now()
    return { queue, verb, args, entries, bytes, now }
  }

  #use(): Opened {
    if (this.#opened === undefined || this.#closing !== undefined) throw closedError()
    return this.#opened
  }
}

function sumOf<T>(entries: readonly T[], sizeOf: (entry: T) => number): number {
  let sum = 0
  for (const entry of entries) sum += sizeOf(entry)
  return sum
}
