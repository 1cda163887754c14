/**
 * Work that is done elsewhere, by programs that cannot hold a queue themselves: a worker whose handlers are other people's.
 *
 * It is the same runtime as a worker's own, with lanes that start a message by handing it out (`RemoteTaker`), so that
 * everything a worker is promised holds: nothing early (P1), fenced (P4), pauses and limits (P14), ttl and attempt limits
 * before it is handed out, leases kept alive, lapsed ones of others taken over. Nothing is claimed that no caller waits for.
 *
 *   claim ──► lane ──start──► taker ──► (elsewhere) ──► end(ending) ──► core/machines/outcome ──► settle
 *                                └─ not heard of in time ──► as if its lease had lapsed (P6)
 *
 * What was handed out outlives this process, whether it stops or is killed: its leases last at the store as long as was
 * promised, and its owner's name says that they are held elsewhere. A holder can still settle one through another
 * process, by its token.
 */
import { decodePolicy, encodeResult } from '../core/encoding/codec.ts'
import { NOTHING_ENDED } from '../core/metrics/figures.ts'
import { CONCURRENCY_MAX } from '../core/input/handle-options.ts'
import { TIMER_MS_MAX } from '../core/input/duration.ts'
import { UsageError } from '../core/errors.ts'
import { LatenessGauge } from '../core/metrics/lateness.ts'
import { decideOutcome, type Ending, type Outcome } from '../core/machines/outcome.ts'
import { Events } from '../runtime/telling/events.ts'
import { Deadlines } from '../runtime/runs/deadlines.ts'
import { Lane } from '../runtime/runs/lane.ts'
import { Lanes } from '../runtime/runs/lanes.ts'
import type { Run } from '../runtime/runs/run.ts'
import { settlementFor, type SettleAnswer } from '../runtime/leases/settler.ts'
import { Runtime } from '../runtime/worker.ts'
import type { ExtendResult, Lease, LeaseRef, SettleResult, Store } from '../store/contract/store.ts'
import { checkDeclared, makeFollowUp } from './draft.ts'
import { insidesOf, type QueueInsides } from './insides.ts'
import type { Settings } from './settings.ts'

/** Who hands messages out. */
export type RemoteTaker = {
  /** How many more of this topic could be handed out now. */
  readonly demand: (topic: string) => number
  /** The same over all topics: a call may wait for several. */
  readonly totalDemand: () => number
  /** Hands it out, and takes it off the demand. */
  readonly take: (task: RemoteTask) => void
}

/** `unknown`: the store did not answer, and it may be settled or not. */
export type RemoteAnswer = 'settled' | 'cancelled' | 'lost' | 'unknown'

/** Every topic that anybody ever waits for is asked for. */
const TOPICS_MAX = 1_000
/** Leases that end about together are extended together. */
const TOGETHER_MS = 5_000

export class RemoteTask {
  readonly lease: Lease
  readonly latenessMs: number
  /** Monotonic: by when its holder must have been heard of. */
  deadlineAt = Infinity
  readonly #run: Run
  readonly #end: (ending: Ending) => void

  constructor(run: Run, end: (ending: Ending) => void) {
    this.#run = run
    this.lease = run.lease
    this.latenessMs = run.latenessMs
    this.#end = end
  }

  get run(): Run {
    return this.#run
  }

  /** Whether its holder should go on. */
  get standing(): ExtendResult {
    const { state } = this.#run
    if (state.name === 'running') return 'extended'
    if (state.name !== 'aborting') return 'lost'
    return state.why === 'cancel' ? 'cancelling' : state.why === 'doubt' ? 'extended' : 'lost'
  }

  /** Says how it ended; resolves to what the store said to it. */
  end(ending: Ending): Promise<RemoteAnswer> {
    const { standing } = this
    if (standing === 'lost') {
      this.#end(ending) // Its slot is free.
      return Promise.resolve('lost')
    }
    return new Promise((resolve) => {
      const before = this.#run.onAnswered
      this.#run.onAnswered = (answer) => {
        before?.(answer)
        resolve(answerFor(answer))
      }
      this.#end(ending)
    })
  }
}

export class RemoteWork {
  readonly #settings: Settings
  readonly #store: Store
  readonly #taker: RemoteTaker
  readonly #lanes: Lanes
  readonly #runtime: Runtime
  readonly #tasks = new Set<RemoteTask>()
  readonly #byKey = new Map<string, RemoteTask>()
  readonly #deadlines: Deadlines<RemoteTask>
  /** Handed out in this turn for longer than their leases at the store last. */
  readonly #promised: Run[] = []

  /** Begins to work on the queue for others. */
  static async begin(queue: object, taker: RemoteTaker): Promise<RemoteWork> {
    const insides = insidesOf(queue)
    return new RemoteWork(insides, await insides.open(), taker)
  }

  private constructor({ settings, metrics: { meter } }: QueueInsides, store: Store, taker: RemoteTaker) {
    const { clock } = settings
    this.#settings = settings
    this.#store = store
    this.#taker = taker
    const lanes: Lanes = new Lanes(() => lanes.running + taker.totalDemand())
    this.#lanes = lanes
    this.#deadlines = new Deadlines({
      clock,
      items: this.#tasks,
      deadlineOf: ({ deadlineAt }) => deadlineAt,
      onReached: (task) => this.#lapse(task),
    })
    this.#runtime = new Runtime({
      ...settings,
      isRemote: true,
      store,
      lanes,
      meter,
      events: new Events(settings.logger, meter),
      gauge: new LatenessGauge(clock.monotonic()),
      makeFollowUp: (topic, payload, options) => makeFollowUp(settings, topic, payload, options),
    })
    this.#runtime.start()
  }

  /** How many are out. */
  get running(): number {
    return this.#tasks.size
  }

  /** From now on messages of this topic are asked for, as far as there is demand. */
  want(topic: string): void {
    checkDeclared(this.#settings, topic)
    if (this.#lanes.get(topic) !== undefined) return
    if (this.#lanes.users.length >= TOPICS_MAX)
      throw new UsageError('BATCH_TOO_LARGE', `workers ask for more than ${TOPICS_MAX} topics; use fewer.`, {
        value: topic,
      })
    this.#lanes.add(this.#makeLane(topic))
    this.#runtime.lanesChanged()
  }

  demandGrew(): void {
    this.#runtime.offerRoom()
  }

  /** Its holder must be heard of within this time. */
  setDeadline(task: RemoteTask, leaseMs: number): void {
    const now = this.#settings.clock.monotonic()
    task.deadlineAt = now + leaseMs
    this.#deadlines.announce(task.deadlineAt, now)
    const { run } = task
    run.promisedUntil = task.deadlineAt
    if (run.leaseEndsAt >= run.promisedUntil) return
    if (this.#promised.length === 0) process.nextTick(() => this.#keepPromises())
    this.#promised.push(run)
  }

  /** All that were handed out in this turn; leases of one claim are extended in one call. A failure is tried again at the tick. */
  #keepPromises(): void {
    for (const run of this.#promised.splice(0)) void run.source.renew(run)
  }

  /** Undefined: it is over, or another process handed it out. */
  find(lease: LeaseRef): RemoteTask | undefined {
    return this.#byKey.get(keyOf(lease))
  }

  /** For a lease that another process handed out. */
  async extendElsewhere({ id, token, topic }: LeaseRef, leaseMs: number): Promise<ExtendResult> {
    const [result = 'lost'] = await this.#store.extend([{ id, token, topic }], leaseMs)
    return result
  }

  /** For a lease that another process handed out: decided here, by the same rules. */
  async settleElsewhere({ id, token, topic }: LeaseRef, ending: Ending): Promise<RemoteAnswer> {
    const [found] = (await this.#store.inspect({ ids: [id] })).items
    if (found === undefined || found.state !== 'running') return 'lost'
    const policy = decodePolicy(found.meta) ?? {}
    const { random, retry } = this.#settings
    const decided = decideOutcome(found.attempt, ending, policy.retry ?? retry, random.next())
    const outcome = decided.kind === 'ack' ? ackOf(ending, policy.rememberMs) : decided
    const [result = 'lost'] = await this.#store.settle([settlementFor({ id, token, topic }, outcome)])
    if (result === 'settled') await this.#record(topic, outcome)
    return answerFor(result)
  }

  /** Gives back what was not handed out, leaves the rest to those who have it, and ends. */
  async stop(): Promise<void> {
    this.#deadlines.clear()
    await this.#runtime.quiet()
    this.#runtime.consumers.close()
    try {
      await this.#extendToTheirEnds()
    } finally {
      for (const { run } of this.#tasks) this.#runtime.consumers.tell(run, 'leave')
      this.#tasks.clear()
      this.#byKey.clear()
      // Nothing runs any more; its timers end with it.
      this.#runtime.consumers.abandonAll()
      await this.#runtime.settle()
      this.#runtime.endSettling()
    }
  }

  async #extendToTheirEnds(): Promise<void> {
    const now = this.#settings.clock.monotonic()
    const groups = new Map<number, LeaseRef[]>()
    for (const { lease, deadlineAt } of this.#tasks) {
      const leaseMs = Math.max(1, Math.ceil((deadlineAt - now) / TOGETHER_MS)) * TOGETHER_MS
      groups.set(leaseMs, [...(groups.get(leaseMs) ?? []), refOf(lease)])
    }
    const { batchMax } = this.#store.capabilities
    for (const [leaseMs, leases] of groups)
      for (let from = 0; from < leases.length; from += batchMax)
        await this.#store.extend(leases.slice(from, from + batchMax), leaseMs)
  }

  #makeLane(topic: string): Lane {
    const { retry, schemas } = this.#settings
    // A message may bring a timeout of its own; else the lease of its holder is the only one.
    const settings = { concurrency: CONCURRENCY_MAX, timeoutMs: TIMER_MS_MAX, retry }
    return new Lane(topic, () => undefined, settings, {
      schema: schemas?.get(topic),
      remote: {
        demand: () => this.#taker.demand(topic),
        start: (run, end) => this.#start(run, end),
      },
    })
  }

  #start(run: Run, end: (ending: Ending) => void): void {
    const task = new RemoteTask(run, end)
    this.#tasks.add(task)
    this.#byKey.set(keyOf(run.lease), task)
    run.onAnswered = () => this.#forget(task)
    this.#taker.take(task)
  }

  #forget(task: RemoteTask): void {
    this.#tasks.delete(task)
    this.#byKey.delete(keyOf(task.lease))
  }

  #lapse(task: RemoteTask): void {
    task.deadlineAt = Infinity
    this.#forget(task)
    void task.end({ kind: 'lapsed', lapses: task.lease.lapses })
  }

  /** Figures are not worth a failure. */
  async #record(topic: string, { kind }: Outcome): Promise<void> {
    const counts =
      kind === 'ack'
        ? { completed: 1 }
        : kind === 'dead'
          ? { dead: 1 }
          : kind === 'retry'
            ? { failed: 1 }
            : {}
    await this.#store.record([{ ...NOTHING_ENDED, ...counts, topic }]).catch(() => undefined)
  }
}

function keyOf({ id, token }: LeaseRef): string {
  return `${id}\n${token}`
}

function refOf({ id, token, topic }: LeaseRef): LeaseRef {
  return { id, token, topic }
}

function ackOf(ending: Ending, rememberMs: number | undefined): Outcome {
  if (rememberMs === undefined) return { kind: 'ack' }
  const result = ending.kind === 'returned' ? keptResult(ending.result) : ''
  return { kind: 'ack', remember: { ms: rememberMs, outcome: 'completed', result } }
}

/** One that cannot be kept costs nothing but itself: the work is done. */
function keptResult(result: unknown): string {
  try {
    return encodeResult(result)
  } catch {
    return ''
  }
}

function answerFor(answer: SettleAnswer | SettleResult): RemoteAnswer {
  switch (answer) {
    case 'settled':
    case 'succeeded':
      return 'settled'
    case 'cancelled':
      return 'cancelled'
    case 'maybe':
    case 'gave up':
    case 'locked':
      return 'unknown'
    case 'lost':
    case 'refused':
    default:
      return 'lost'
  }
}
