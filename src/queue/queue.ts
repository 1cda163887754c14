/// <reference lib="esnext.disposable" preserve="true" />
/** The queue as users hold it: checks what they say, and hands it on. Opens its store on first use: no `start()` to produce. */
import type { Duration } from '../core/input/duration.ts'
import { UsageError } from '../core/errors.ts'
import { LatenessGauge } from '../core/metrics/lateness.ts'
import { checkId } from '../core/input/names.ts'
import type { CancelOptions, Filter, FilterOptions } from '../core/input/filter.ts'
import { parseStop, type HandleOptions } from '../core/input/handle-options.ts'
import {
  parseForecast,
  parseList,
  parseStats,
  type ForecastOptions,
  type ListOptions,
  type StatsOptions,
} from '../core/input/questions.ts'
import { parseReschedule, type ProduceOptions, type RescheduleOptions } from '../core/input/request.ts'
import type { TopicSchemas } from '../core/input/schema.ts'
import { examine } from './looking/doctor.ts'
import { batchOf, checkSchema, makeDraft, makeDrafts, makeFollowUp } from './draft.ts'
import { readForecast, type DueForecast } from './looking/forecast.ts'
import type { CancelCounts, CancelResult, RescheduleCounts } from './changing/filtering.ts'
import { find, list, type FoundMessage, type MessagePage } from './looking/inspection.ts'
import { makeLane } from './handling.ts'
import { showInsides } from './insides.ts'
import { readMetrics, type Metrics, type MetricsParts } from './looking/metrics.ts'
import { Opening } from './opening.ts'
import { Events, type EventName, type Listener } from '../runtime/telling/events.ts'
import type { Handler, ProduceArguments } from '../runtime/handler.ts'
import { QueueMeter } from '../runtime/telling/meter.ts'
import { Lanes } from '../runtime/runs/lanes.ts'
import type { Producer, Draft } from '../runtime/producer.ts'
import { Runtime } from '../runtime/worker.ts'
import { stopInOrder, whenAborted, type StopReport } from '../runtime/stopping.ts'
import { Schedules } from './schedules/schedules.ts'
import type { Settings } from './settings.ts'
import { untilSignalled } from './signals.ts'
import { parseCancelCall, parsePurgeCall, parseRescheduleCall, parseReviveCall } from './changing/changes.ts'
import { Steering } from './changing/steering.ts'
import { readStats, type Stats } from './looking/stats.ts'
import { readWhy, type Why } from './looking/why.ts'
import { readWorkers, type FoundWorkers } from './looking/workers.ts'
import type { Finding, RescheduleResult, Store } from '../store/contract/store.ts'
import type {
  AnyTopics,
  NoSchemas,
  PayloadIn,
  PayloadOut,
  PayloadsIn,
  ProduceEntry,
  TopicName,
} from './topics.ts'

export class Queue<T extends object = AnyTopics, S extends TopicSchemas = NoSchemas> extends Steering<T, S> {
  /** What recurs. */
  readonly schedules: Schedules<T, S>
  readonly #settings: Settings
  readonly #opening: Opening
  readonly #events: Events
  readonly #lanes: Lanes
  readonly #gauge: LatenessGauge
  readonly #metrics: MetricsParts
  readonly #hurry = new AbortController()
  #runtime: Runtime | undefined
  #starting: Promise<void> | undefined
  #stopping: Promise<StopReport> | undefined
  /** From the settle step of a stop on: until then handlers that still run may use the queue. */
  #isClosed = false
  readonly #stopBegins = new AbortController()

  constructor(settings: Settings, makeStore: () => Promise<Store>) {
    super(() => this.#open(), settings.clock)
    this.#settings = settings
    const { clock } = settings
    const meter = new QueueMeter()
    this.#opening = new Opening(makeStore, settings, meter)
    this.#events = new Events(settings.logger, meter)
    this.#lanes = new Lanes(settings.concurrency)
    this.#gauge = new LatenessGauge(clock.monotonic())
    this.schedules = new Schedules(settings, () => this.#open())
    const open = (): Promise<Store> => this.#open()
    this.#metrics = { settings, meter, madeAt: clock.now(), load: () => this.#runtime?.load, open }
    const openProducer = (): Promise<Producer> => this.#openProducer()
    const producer = (): Producer | undefined => (this.#isClosed ? undefined : this.#opening.producer)
    showInsides(this, { settings, open, openProducer, producer, metrics: this.#metrics })
  }

  /** Stores a message until its moment; resolves to its id once the store has it safe. */
  produce<K extends TopicName<T, S>>(
    topic: K,
    ...[payload, options]: ProduceArguments<PayloadIn<T, S, K>, ProduceOptions>
  ): Promise<string> {
    const { tracing } = this.#settings
    if (tracing === undefined) return this.#produce(topic, payload, options)
    return tracing.producing({ topic }, () => this.#produce(topic, payload, options))
  }

  #produce(topic: string, payload: unknown, options: unknown): Promise<string> {
    try {
      this.#assertNotClosed()
      const draft = makeDraft(this.#settings, topic, payload, options)
      const { producer } = this.#opening
      if (producer !== undefined && this.#settings.schemas === undefined) return producer.produce(draft)
      return this.#produceChecked(draft)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /**
   * Many at once: all are checked before any is stored. Should some be refused by their `ifExists`, the call rejects
   * and the others are stored.
   */
  async produceMany<K extends TopicName<T, S>>(
    entries: readonly { [Topic in K]: ProduceEntry<Topic, PayloadIn<T, S, Topic>> }[K][],
  ): Promise<string[]> {
    this.#assertNotClosed()
    const { tracing } = this.#settings
    const send = async (): Promise<string[]> => {
      const drafts = await makeDrafts(this.#settings, entries)
      return (await this.#openProducer()).produceMany(drafts)
    }
    return tracing === undefined ? send() : tracing.producing(batchOf(entries), send)
  }

  /** Takes a message back before it starts, or all that fit a filter. */
  cancel(id: string, options?: CancelOptions): Promise<CancelResult>
  cancel(filter: Filter, options?: FilterOptions): Promise<CancelCounts>
  async cancel(
    which: string | Filter,
    options?: CancelOptions | FilterOptions,
  ): Promise<CancelResult | CancelCounts> {
    const cancel = parseCancelCall(which, options, this.#settings.clock.now())
    return cancel(await this.#open())
  }

  /** Moves a message that has not started, or all that fit a filter, to another moment. */
  reschedule(id: string, when: RescheduleOptions): Promise<RescheduleResult>
  reschedule(filter: Filter, when: RescheduleOptions, options?: FilterOptions): Promise<RescheduleCounts>
  async reschedule(
    which: string | Filter,
    when: RescheduleOptions,
    options?: FilterOptions,
  ): Promise<RescheduleResult | RescheduleCounts> {
    const { clock, windows } = this.#settings
    const now = clock.now()
    const moment = parseReschedule(when, { now, book: windows })
    const reschedule = parseRescheduleCall(which, moment, options, now)
    return reschedule(await this.#open())
  }

  async get(id: string): Promise<FoundMessage | undefined> {
    return find(await this.#open(), checkId(id))
  }

  async list(options?: ListOptions): Promise<MessagePage> {
    const parsed = parseList(options, this.#settings.clock.now())
    return list(await this.#open(), parsed)
  }

  /** Dead messages start anew, due now; answers how many. */
  async revive(which: readonly string[] | Filter, options?: FilterOptions): Promise<number> {
    const revive = parseReviveCall(which, options, this.#settings.clock.now())
    return revive(await this.#open())
  }

  /** Removes messages that do not run; answers how many. */
  async purge(filter: Filter, options?: FilterOptions): Promise<number> {
    const purge = parsePurgeCall(filter, options, this.#settings.clock.now())
    return purge(await this.#open())
  }

  /** Totals, the 1,000 topics with most waiting (or those named), what is overdue, and what ended lately. */
  async stats(options?: StatsOptions): Promise<Stats> {
    const topics = parseStats(options)
    const { clock } = this.#settings
    const latenessMs = this.#gauge.percentiles(clock.monotonic())
    return readStats(await this.#open(), { now: clock.now(), topics, latenessMs })
  }

  /** How many messages come due when. */
  async forecast(options: ForecastOptions): Promise<DueForecast> {
    const now = this.#settings.clock.now()
    const parsed = parseForecast(options, now)
    return readForecast(await this.#open(), parsed, now)
  }

  /** Who works on this queue; last seen first, at most 1,000. Those that are gone or silent stay for an hour. */
  async workers(): Promise<FoundWorkers> {
    return readWorkers(await this.#open())
  }

  /** Why a message has not started, or what became of it. */
  async why(id: string): Promise<Why> {
    const checked = checkId(id)
    const { clock, windows } = this.#settings
    return readWhy(await this.#open(), checked, { now: clock.now(), book: windows })
  }

  /** Figures for a monitoring system: of the whole queue, and of this process. Told also while the store is away. */
  metrics(): Promise<Metrics> {
    return readMetrics([this.#metrics])
  }

  /** What an operator should know about the store and this queue, worst first. */
  async doctor(): Promise<Finding[]> {
    return examine(await this.#open(), this.#settings.clock.now())
  }

  /** Copies the store to a new directory while it is in use, where its engine can. */
  async backup(directory: string): Promise<void> {
    await (await this.#open()).backup(directory)
  }

  /** Says what to do with the messages of a topic. Before or after `start()`. */
  handle<K extends TopicName<T, S>>(
    topic: K,
    handler: Handler<PayloadOut<T, S, K>, PayloadsIn<T, S>>,
    options?: HandleOptions,
  ): this {
    this.#assertNotStopped()
    this.#lanes.add(makeLane(this.#settings, this.#lanes, { topic, handler: handler as Handler, options }))
    this.#runtime?.lanesChanged()
    return this
  }

  on<K extends EventName>(name: K, listener: Listener<K>): this {
    this.#events.on(name, listener)
    return this
  }

  off<K extends EventName>(name: K, listener: Listener<K>): this {
    this.#events.off(name, listener)
    return this
  }

  /** Begins to run handlers; resolves once the store is open. */
  start(): Promise<void> {
    if (this.#stopping !== undefined) return Promise.reject(stoppedError())
    this.#starting ??= this.#start().catch((error: unknown) => {
      this.#starting = undefined
      throw error
    })
    return this.#starting
  }

  /** Ends in order, within its timeout and a few seconds, whatever happens. A second call shares the first. */
  stop(options?: { timeout?: Duration }): Promise<StopReport> {
    if (this.#stopping === undefined) {
      const timeoutMs = parseStop(options, this.#settings.stopTimeoutMs)
      this.#stopping = this.#stop(timeoutMs)
    }
    return this.#stopping
  }

  /** Starts, waits for SIGINT or SIGTERM, stops. A second signal no longer waits for handlers. */
  async run(): Promise<StopReport> {
    const signals = untilSignalled(() => this.#hurry.abort())
    try {
      const ended = Promise.race([signals.first, whenAborted(this.#stopBegins.signal)])
      // A signal is heard while the store still opens; the start then rejects because of the stop, which is no error.
      const starting = this.start()
      const isStopped = await Promise.race([starting.then(() => false), ended.then(() => true)])
      if (isStopped) starting.catch(() => undefined)
      else await ended
      return await this.stop()
    } finally {
      signals.end()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #start(): Promise<void> {
    const store = await this.#open()
    const { clock, logger, random, leaseMs, fallbackMs, lateAfterMs, windows } = this.#settings
    const runtime = new Runtime({
      clock,
      random,
      logger,
      store,
      leaseMs,
      fallbackMs,
      lateAfterMs,
      windows,
      events: this.#events,
      lanes: this.#lanes,
      gauge: this.#gauge,
      meter: this.#metrics.meter,
      tracing: this.#settings.tracing,
      makeFollowUp: (...asked) => makeFollowUp(this.#settings, ...asked),
    })
    this.#assertNotStopped() // While the store opened.
    this.#runtime = runtime
    runtime.start()
  }

  #stop(timeoutMs: number): Promise<StopReport> {
    this.#stopBegins.abort()
    const runtime = this.#runtime
    return stopInOrder(
      {
        clock: this.#settings.clock,
        consumers: runtime?.consumers,
        quiet: async () => runtime?.quiet(),
        settle: async () => {
          this.#isClosed = true
          await Promise.all([this.#opening.producer?.drain(), runtime?.settle()])
        },
        endSettling: () => runtime?.endSettling(),
        close: () => this.#opening.close(),
      },
      timeoutMs,
      this.#hurry.signal,
    )
  }

  #open(): Promise<Store> {
    this.#assertNotClosed()
    return this.#opening.open()
  }

  protected readonly openStore = (): Promise<Store> => this.#open()

  #openProducer(): Promise<Producer> {
    this.#assertNotClosed()
    return this.#opening.openProducer()
  }

  async #produceChecked(draft: Draft): Promise<string> {
    await checkSchema(this.#settings, draft.message)
    return (await this.#openProducer()).produce(draft)
  }

  #assertNotStopped(): void {
    if (this.#stopping !== undefined) throw stoppedError()
  }

  #assertNotClosed(): void {
    if (this.#isClosed) throw stoppedError()
  }
}

function stoppedError(): UsageError {
  return new UsageError('QUEUE_STOPPED', 'this queue was stopped; make a new one.')
}
