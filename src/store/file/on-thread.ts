/**
 * The file engine as it lives on its thread: every verb of the contract, on one SQLite file.
 *
 *   look   answered from a snapshot: whatever only reads, and a claim that finds nothing to do, so that idle workers
 *          never compete for the lock
 *   write  together with other calls in one transaction, synced before the first of them resolves, claims included: an
 *          attempt that was handed out is counted even if the machine dies the next moment
 *
 * Time is the wall clock, which all processes of a machine share. It may be set back: what was due may be delayed again,
 * leases last longer, nothing breaks, because neither order nor tokens are made of time.
 */
import path from 'node:path'
import { systemClock } from '../../clock.ts'
import { InvariantError } from '../../core/errors.ts'
import type {
  ClaimRequest,
  InspectQuery,
  Move,
  NewMessage,
  RestoredMessage,
  TopicFigures,
} from '../contract/store.ts'
import { sizeOfMessage } from '../contract/sizes.ts'
import type { HostedEngine, Look, Written } from '../thread/host.ts'
import type { ThreadCall } from '../thread/protocol.ts'
import { Database } from './database/database.ts'
import { isBusy } from './database/driver.ts'
import { Ledger } from './database/ledger.ts'
import { inspectDirectory, syncDirectory, type SyncMode } from './directory.ts'
import { DiskSpace } from './disk-space.ts'
import { backupTo } from './doctor/backup.ts'
import { checkup } from './doctor/checkup.ts'
import { explainFailure, isFull } from './failure.ts'
import { keysPage } from './keys/looking.ts'
import { KeyTurns } from './keys/turns.ts'
import { claimDue, claimLapsed, lookForDue, lookForLapsed, type Outlook } from './verbs/claiming.ts'
import { control, controls } from './verbs/controlling.ts'
import { count, countTopics, forecast } from './verbs/counting.ts'
import { figures, record } from './verbs/figures.ts'
import { inspectIds, inspectPage, inspectRemembered } from './verbs/inspection.ts'
import { leave, owned, workers } from './verbs/owners.ts'
import { putAll, removeOne, rescheduleOne, reviveOne } from './verbs/placing.ts'
import { restoreOne } from './verbs/restoring.ts'
import { NO_QUEUE, type Scene, type View } from './verbs/scene.ts'
import { extend, settle } from './verbs/settling.ts'
import { closeBells, ringBell } from './wake.ts'

export type FileEngineOptions = { readonly directory: string; readonly sync: SyncMode }

type Args = readonly never[]
type Read = (view: View, ...args: Args) => unknown
type Write = (scene: Scene, ...args: Args) => unknown

/** Each entry of the first argument by itself. */
const each =
  <E>(act: (scene: Scene, entry: E, ...rest: Args) => unknown) =>
  (scene: Scene, entries: readonly E[], ...rest: Args): unknown[] =>
    entries.map((entry) => act(scene, entry, ...rest))

const WRITES: Readonly<Record<string, Write>> = {
  put: putAll,
  remove: each<string>(removeOne),
  reschedule: each<Move>(rescheduleOne),
  revive: each<string>(reviveOne),
  restore: each<RestoredMessage>(restoreOne),
  extend,
  settle,
  claim: (scene: Scene, request: ClaimRequest) =>
    request.from === 'due' ? claimDue(scene, request) : claimLapsed(scene, request),
  leave,
  control,
  record: (scene: Scene, entries: readonly TopicFigures[]) => record(scene, entries),
}

const READS: Readonly<Record<string, Read>> = {
  inspect: (view: View, query: InspectQuery) =>
    'ids' in query ? inspectIds(view, query.ids) : inspectPage(view, query),
  remembered: inspectRemembered,
  count,
  countTopics,
  figures,
  workers,
  controls,
  keys: keysPage,
  owned,
  open: () => undefined,
  queues: ({ db }: View, limit: number) => db.all<{ name: string }>(QUEUES, limit).map(({ name }) => name),
}

/** These bring messages, which a full disk has no room for. */
const BRINGING: ReadonlySet<string> = new Set(['put', 'restore'])

/** These take long, and run on a thread of their own. */
const ASIDE: Readonly<Record<string, (view: View, options: FileEngineOptions, ...args: Args) => unknown>> = {
  doctor: checkup,
  backup: ({ db }, _options, directory: string) => backupTo(db, directory),
}

const QUEUE = 'SELECT queue FROM queue WHERE name = ?'
const NEW_QUEUE = 'INSERT INTO queue (name) VALUES (?) RETURNING queue'
const QUEUES = "SELECT name FROM queue WHERE name <> '' ORDER BY name LIMIT ?"

export class FileEngine implements HostedEngine {
  readonly #options: FileEngineOptions
  readonly #space: DiskSpace
  /** A queue's number never changes. */
  readonly #queues = new Map<string, number>()
  #db: Database | undefined
  /** The last transaction found the disk full: the next try adds no messages, or it would find the same. */
  #hasFailedFull = false

  constructor(options: FileEngineOptions) {
    this.#options = options
    this.#space = new DiskSpace(options.directory)
  }

  open(): boolean {
    if (this.#db !== undefined) return true
    const { directory, sync } = this.#options
    try {
      inspectDirectory(directory)
      this.#db = Database.open(directory, sync)
      if (this.#db === undefined) return false
      syncDirectory(directory)
      syncDirectory(path.dirname(directory))
      return true
    } catch (error) {
      if (isFull(error, directory) && this.#space.giveUp()) return false
      throw explainFailure(error, directory)
    }
  }

  look(call: ThreadCall): Look {
    try {
      return this.#look(call)
    } catch (error) {
      // On a full disk even a reader may want for a page that it shares with others.
      const hasRoom =
        isFull(error, this.#options.directory) && !BRINGING.has(call.verb) && this.#space.giveUp()
      if (isBusy(error) || hasRoom) return { kind: 'busy' }
      throw explainFailure(error, this.#options.directory)
    }
  }

  /** Slices run later than the look that made them, so their failures are explained here. */
  *#explained<T>(slices: Generator<void, T>): Generator<void, T> {
    try {
      return yield* slices
    } catch (error) {
      throw explainFailure(error, this.#options.directory)
    }
  }

  begin(): boolean {
    try {
      return this.#use().begin()
    } catch (error) {
      if (isFull(error, this.#options.directory) && this.#space.giveUp()) return false
      throw explainFailure(error, this.#options.directory)
    }
  }

  write(calls: readonly ThreadCall[]): Written {
    const db = this.#use()
    try {
      const ledger = new Ledger(db)
      const values = calls.map((call) => this.#act(ledger, call))
      const wakes = ledger.close()
      db.commit()
      this.#hasFailedFull = false
      for (const wake of wakes) ringBell(db.directory, wake)
      return { kind: 'done', values, wakes }
    } catch (error) {
      db.rollback()
      // A queue that was made in this transaction is not there.
      this.#queues.clear()
      if (isFull(error, db.directory) && this.#makesRoom(calls)) {
        this.#hasFailedFull = true
        return { kind: 'again' }
      }
      throw explainFailure(error, db.directory)
    }
  }

  close(): void {
    closeBells()
    this.#db?.close()
    this.#db = undefined
  }

  #look(call: ThreadCall): Look {
    const { verb, args } = call
    if (verb === 'claim') return this.#lookAtClaim(call, args[0] as ClaimRequest)
    if (BRINGING.has(verb)) this.#space.admit(call.entries, call.bytes)
    if (verb in WRITES) return { kind: 'write' }
    if (verb === 'forecast') {
      return { kind: 'slices', slices: this.#explained(forecast(this.#view(call), ...(args as [never]))) }
    }
    const aside = ASIDE[verb]
    if (aside !== undefined)
      return { kind: 'value', value: aside(this.#view(call), this.#options, ...(args as Args)) }
    return { kind: 'value', value: this.#use().snapshot(() => this.#read(call)) }
  }

  #lookAtClaim(call: ThreadCall, request: ClaimRequest): Look {
    const view = this.#view(call)
    const { hasLeftovers = false, ...outlook } = view.db.snapshot((): Outlook => {
      return request.from === 'due' ? lookForDue(view, request) : lookForLapsed(view, request)
    })
    const hasNews = request.from === 'due' && request.facts !== undefined
    if (hasNews || hasLeftovers || (outlook.next.state === 'EXPIRED' && request.limit > 0))
      return { kind: 'write' }
    return { kind: 'value', value: { leases: [], ...outlook } }
  }

  #read(call: ThreadCall): unknown {
    const { verb, args } = call
    const view = this.#view(call)
    const read = READS[verb]
    if (read === undefined) throw new InvariantError(`the file engine has no verb "${verb}"`)
    return read(view, ...(args as Args))
  }

  #act(ledger: Ledger, call: ThreadCall): unknown {
    const write = WRITES[call.verb]
    if (write === undefined) throw new InvariantError(`the file engine has no verb "${call.verb}"`)
    const { db, queue: found, queueName, now } = this.#view(call)
    const queue = found === NO_QUEUE ? this.#makeQueue(queueName) : found
    const scene = { db, queue, queueName, now, ledger }
    const turns = new KeyTurns(scene)
    const value = write({ ...scene, turns, hasRoomFor: this.#hasRoomFor }, ...(call.args as Args))
    turns.flush()
    return value
  }

  readonly #hasRoomFor = (messages: readonly NewMessage[]): boolean => {
    if (this.#hasFailedFull) return false
    const bytes = messages.reduce((sum, message) => sum + sizeOfMessage(message), 0)
    return this.#space.hasRoomFor(messages.length, bytes)
  }

  #view(call: ThreadCall): View {
    const queue = this.#queues.get(call.queue) ?? this.#findQueue(call.queue)
    return { db: this.#use(), queue, queueName: call.queue, now: Math.floor(call.now ?? systemClock.now()) }
  }

  #findQueue(name: string): number {
    const found = this.#use().get<{ queue: number }>(QUEUE, name)?.queue
    if (found !== undefined) this.#queues.set(name, found)
    return found ?? NO_QUEUE
  }

  #makeQueue(name: string): number {
    const made = this.#use().get<{ queue: number }>(NEW_QUEUE, name)?.queue ?? NO_QUEUE
    this.#queues.set(name, made)
    return made
  }

  /** The disk is full: what does not add messages may go on in the reserve. */
  #makesRoom(calls: readonly ThreadCall[]): boolean {
    if (calls.some(({ verb }) => BRINGING.has(verb)) || !this.#space.giveUp()) return false
    this.#use().checkpoint()
    return true
  }

  #use(): Database {
    if (this.#db === undefined) throw new InvariantError('the file engine is not open')
    return this.#db
  }
}
