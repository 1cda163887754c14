/**
 * Where workers in other languages get their messages: they ask and wait here, and what comes due goes to the call that has
 * waited longest for its topic. The store is not asked for each of them: all calls that wait are one demand.
 *
 *   call ──► parked ──a message of its topics──► filled ──end of the turn──► answered
 *              └── its time is over, the client has gone, the server stops ──► answered with nothing
 *
 * What a call was given and the client did not get, because it had gone, goes back as if nothing had happened.
 */
import type { Clock, Timer } from '../../../clock.ts'
import type { Punctual } from '../../../index.ts'
import { RemoteWork, type RemoteTask } from '../../../queue/remote.ts'
import type { HttpRequest } from '../wire/request.ts'

/**
 * A call that takes more is answered no sooner than this after the answer before: at thousands of messages a second it is
 * the calls that cost, and a server that is kept busy by them hands out later, not sooner.
 */
const GATHER_MS = 1

export type LeaseAsk = {
  /** By topic, how many at most. */
  readonly topics: ReadonlyMap<string, number>
  readonly limit: number
  readonly leaseMs: number
  readonly waitMs: number
  readonly whenGone: HttpRequest['whenGone']
}

class ParkedCall {
  readonly ask: LeaseAsk
  readonly tasks: RemoteTask[] = []
  /** How many more it takes, by topic. */
  readonly #left: Map<string, number>
  readonly resolve: (tasks: readonly RemoteTask[]) => void
  timer: Timer | undefined
  isFilling = false

  constructor(ask: LeaseAsk, resolve: (tasks: readonly RemoteTask[]) => void) {
    this.ask = ask
    this.#left = new Map(ask.topics)
    this.resolve = resolve
  }

  get room(): number {
    return this.ask.limit - this.tasks.length
  }

  roomFor(topic: string): number {
    return Math.min(this.room, this.#left.get(topic) ?? 0)
  }

  add(task: RemoteTask): void {
    const { topic } = task.lease
    this.tasks.push(task)
    this.#left.set(topic, (this.#left.get(topic) ?? 1) - 1)
  }
}

export class LeaseDesk {
  readonly #clock: Clock
  readonly #queue: Punctual
  /** In the order in which they came. */
  readonly #parked = new Set<ParkedCall>()
  /** By topic: the calls that wait for it, and how many they would take. */
  readonly #byTopic = new Map<string, Set<ParkedCall>>()
  readonly #demand = new Map<string, number>()
  #total = 0
  /** Monotonic: when messages were handed out last. */
  #answeredAt = -Infinity
  #work: Promise<RemoteWork> | undefined
  /** The same, when it has begun. */
  #begun: RemoteWork | undefined
  #isStopped = false

  constructor(clock: Clock, queue: Punctual) {
    this.#clock = clock
    this.#queue = queue
  }

  /** Begins to work on the queue: takes over lapsed leases, fires schedules, hands out what is asked for. */
  begin(): Promise<RemoteWork> {
    this.#work ??= RemoteWork.begin(this.#queue, {
      demand: (topic) => this.#demand.get(topic) ?? 0,
      totalDemand: () => this.#total,
      take: (task) => this.#take(task),
    }).then(
      (work) => (this.#begun = work),
      (error: unknown) => {
        this.#work = undefined
        throw error
      },
    )
    return this.#work
  }

  get waiting(): number {
    return this.#parked.size
  }

  /** Resolves to what came due, at most `limit`; to nothing when the time is over. */
  async lease(ask: LeaseAsk): Promise<readonly RemoteTask[]> {
    const work = this.#begun ?? (await this.begin())
    for (const topic of ask.topics.keys()) work.want(topic)
    if (this.#isStopped) return []
    return new Promise((resolve) => {
      const call = new ParkedCall(ask, resolve)
      call.timer = this.#clock.schedule(ask.waitMs, () => this.#answer(call))
      this.#park(call)
      ask.whenGone(() => this.#answer(call))
      work.demandGrew()
    })
  }

  /** Gives back what was handed out and never arrived. */
  giveBack(tasks: readonly RemoteTask[]): void {
    for (const task of tasks) void task.end({ kind: 'stopped' })
  }

  /** Calls that wait are answered with nothing; leases that are out stay with those who have them. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const call of this.#parked) this.#answer(call)
    const work = await this.#work?.catch(() => undefined)
    await work?.stop()
  }

  #take(task: RemoteTask): void {
    const { topic } = task.lease
    const calls = this.#byTopic.get(topic)
    const [call] = calls ?? []
    if (call === undefined) return void task.end({ kind: 'stopped' })
    this.#count(call, -1)
    call.add(task)
    this.#count(call, 1)
    if (call.roomFor(topic) === 0) calls?.delete(call)
    this.#begun?.setDeadline(task, call.ask.leaseMs)
    if (call.room === 0) return this.#answer(call)
    if (call.isFilling) return
    call.isFilling = true
    // What comes due together is handed out together.
    const waitMs = this.#answeredAt + GATHER_MS - this.#clock.monotonic()
    if (waitMs <= 0) process.nextTick(() => this.#answer(call))
    else this.#clock.schedule(waitMs, () => this.#answer(call))
  }

  #park(call: ParkedCall): void {
    this.#parked.add(call)
    for (const topic of call.ask.topics.keys())
      this.#byTopic.set(topic, (this.#byTopic.get(topic) ?? new Set()).add(call))
    this.#count(call, 1)
  }

  #answer(call: ParkedCall): void {
    if (!this.#parked.delete(call)) return
    for (const topic of call.ask.topics.keys()) this.#byTopic.get(topic)?.delete(call)
    this.#count(call, -1)
    call.timer?.cancel()
    if (call.tasks.length > 0) this.#answeredAt = this.#clock.monotonic()
    call.resolve(call.tasks)
  }

  /** Adds the call to the demand, or takes it away, as it is now. */
  #count(call: ParkedCall, sign: 1 | -1): void {
    this.#total += sign * call.room
    for (const topic of call.ask.topics.keys())
      this.#demand.set(topic, (this.#demand.get(topic) ?? 0) + sign * call.roomFor(topic))
  }
}
