/** The queues that a server serves, each with what belongs to it here. */
import type { Clock } from '../../clock.ts'
import { segmentOf } from '../../core/encoding/segment.ts'
import type { Punctual, Stats, Store } from '../../index.ts'
import { insidesOf, type QueueInsides } from '../../queue/insides.ts'
import { isQueueName, type Settings } from '../../queue/settings.ts'
import type { Caller } from './access/caller.ts'
import { partOfStats } from './access/part.ts'
import { Answers } from './answers.ts'
import { BulkJobs } from './bulk/jobs.ts'
import { PastFigures } from './figures.ts'
import { LeaseDesk } from './leases/desk.ts'
import { RemoteWorkers } from './leases/remote-workers.ts'
import { Live, type LiveNote } from './live/live.ts'
import { HttpRefusal } from './wire/problem.ts'

export class Served {
  readonly name: string
  readonly queue: Punctual
  /** Below the base path. */
  readonly path: string
  readonly answers: Answers
  readonly past = new PastFigures()
  /** Of the whole queue. */
  readonly #live: Live
  /** By topic prefix: of the topics of a token. */
  readonly #parts = new Map<string, Live>()
  readonly #clock: Clock
  readonly jobs: BulkJobs
  readonly desk: LeaseDesk
  readonly remoteWorkers: RemoteWorkers
  readonly #insides: QueueInsides

  constructor(queue: Punctual, clock: Clock) {
    this.#insides = insidesOf(queue)
    this.name = this.#insides.settings.queue
    this.queue = queue
    this.path = `/v1/queues/${segmentOf(this.name)}`
    this.answers = new Answers(clock)
    this.#clock = clock
    this.#live = new Live(clock, {
      read: () => queue.stats(),
      recount: (known) => this.#recount(known),
    })
    this.jobs = new BulkJobs(this)
    this.desk = new LeaseDesk(clock, queue)
    this.remoteWorkers = new RemoteWorkers(clock)
  }

  get settings(): Settings {
    return this.#insides.settings
  }

  get payloadLimit(): number {
    return this.#insides.settings.payloadLimit
  }

  /** Resolves to the store, which is opened on first use. */
  readonly open = (): Promise<Store> => this.#insides.open()

  get metrics(): QueueInsides['metrics'] {
    return this.#insides.metrics
  }

  /** Undefined until the store is open. */
  get producer(): ReturnType<QueueInsides['producer']> {
    return this.#insides.producer()
  }

  /** Somebody did something here: all who look are told, and what was true before is asked for again. `topic`: what it was about. */
  note(event: LiveNote, data: unknown, topic: string | undefined): void {
    this.answers.forgetAll()
    this.#live.note(event, data)
    for (const [prefix, live] of this.#parts) if (topic?.startsWith(prefix) === true) live.note(event, data)
  }

  /** What changes, for this caller. A part without listeners is forgotten. */
  liveFor(who: Caller): Live {
    const { topicPrefix } = who
    if (topicPrefix === undefined) return this.#live
    for (const [prefix, live] of this.#parts)
      if (live.isIdle && prefix !== topicPrefix) this.#parts.delete(prefix)
    const known = this.#parts.get(topicPrefix)
    if (known !== undefined) return known
    const read = (): Promise<Stats> => partOfStats(who, this, { now: Math.floor(this.#clock.now()) })
    const made = new Live(this.#clock, { read, recount: (stats) => Promise.resolve(stats) })
    this.#parts.set(topicPrefix, made)
    return made
  }

  stopLive(): void {
    for (const live of [this.#live, ...this.#parts.values()]) live.stop()
  }

  async #recount({ nextDueAt: _due, missing: _gap, ...known }: Stats): Promise<Stats> {
    const { states: counts, nextDueAt, missing } = await (await this.open()).count()
    return {
      ...known,
      counts,
      ...(nextDueAt === undefined ? {} : { nextDueAt }),
      ...(missing === undefined ? {} : { missing }),
    }
  }

  openProducer(): ReturnType<QueueInsides['openProducer']> {
    return this.#insides.openProducer()
  }
}

/** Names that are not served yet, and how to serve one: for a server that serves all queues of a store. */
export type QueueSource = {
  readonly names: () => Promise<{ readonly names: readonly string[]; readonly isComplete: boolean }>
  readonly open: (name: string) => Punctual
}

/** A client must not be able to have any number of connections opened. */
const QUEUES_MAX = 200
const LOOK_MS = 2_000

export class ServedQueues {
  readonly #clock: Clock
  readonly #source: QueueSource | undefined
  readonly #byName = new Map<string, Served>()
  #isComplete = true
  #lookedAt = -Infinity

  constructor(clock: Clock, queues: readonly Punctual[], source?: QueueSource) {
    this.#clock = clock
    this.#source = source
    for (const queue of queues) this.#add(queue)
  }

  get all(): readonly Served[] {
    return [...this.#byName.values()]
  }

  /** Rejects with QUEUE_UNKNOWN. */
  find(name: string): Served | Promise<Served> {
    return this.#byName.get(name) ?? this.#look(name)
  }

  /** The names of all that are served. */
  async names(): Promise<{ readonly names: readonly string[]; readonly isComplete: boolean }> {
    await this.#refresh()
    return { names: [...this.#byName.keys()].toSorted(), isComplete: this.#isComplete }
  }

  async #look(name: string): Promise<Served> {
    await this.#refresh()
    const found = this.#byName.get(name)
    if (found !== undefined) return found
    throw new HttpRefusal('QUEUE_UNKNOWN', `this server does not serve a queue ${JSON.stringify(name)}.`)
  }

  async #refresh(): Promise<void> {
    const source = this.#source
    const now = this.#clock.monotonic()
    if (source === undefined || now - this.#lookedAt < LOOK_MS) return
    this.#lookedAt = now
    // Until it is answered, what is known here is not all.
    this.#isComplete = false
    const { names: stored, isComplete } = await source.names()
    // Older versions allowed names that no queue may have any more.
    const names = stored.filter(isQueueName)
    for (const name of names)
      if (!this.#byName.has(name) && this.#byName.size < QUEUES_MAX) this.#add(source.open(name))
    this.#isComplete = isComplete && names.every((name) => this.#byName.has(name))
  }

  #add(queue: Punctual): void {
    const served = new Served(queue, this.#clock)
    this.#byName.set(served.name, served)
  }
}
