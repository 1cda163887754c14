/**
 * One life of one process: a queue with its clock, its chance and its line to the store. It can be killed at any
 * moment, after which nothing of it happens any more, and frozen, after which everything happens late. A restart is a
 * new one of these.
 *
 * Watches what its queue does with the handlers: each start needs a lease that was delivered here, lives, and is due.
 */
import { isControl } from '../../src/core/control.ts'
import { Queue } from '../../src/queue/queue.ts'
import { ABORT_GRACE_MS } from '../../src/runtime/consumers.ts'
import type { Message } from '../../src/runtime/handler.ts'
import { parseSettings } from '../../src/queue/settings.ts'
import type { LeaseRef, Settlement, Store } from '../../src/store/contract/store.ts'
import type { Chance } from './chance.ts'
import { calmKind, perform } from './handlers.ts'
import type { HandlerEnd, Holder, LeaseRecord } from '../judges/lease-record.ts'
import { wasQuiet } from '../judges/quiet.ts'
import { RateCheck } from '../judges/rate-check.ts'
import { KeyActions } from './key-actions.ts'
import { Link } from './link.ts'
import { asOne, type Partition } from './partition.ts'
import { never } from './never.ts'
import type { HostPlan } from '../plan.ts'
import { ProcessClock } from './process-clock.ts'
import { schemasFor } from './schemas.ts'
import type { World } from './world.ts'

/** Wake-ups that take longer come too late to keep a message from its start. */
const HEARD_MS_MAX = 100
/** The share of topics that get their handler after the start. */
const LATE_TOPICS = 0.1

export class SimulatedProcess implements Holder {
  readonly host: string
  readonly name: string
  readonly queue: Queue
  readonly clock: ProcessClock
  /** To the store, through lines that may fail. */
  readonly store: Store
  readonly rate: RateCheck
  /** Of what its handlers attach. */
  readonly keyed: KeyActions
  /** Whether it refuses payloads that do not fit. */
  hasSchemas = false
  isDead = false
  frozenUntil = 0
  /** Simulated time; -1 for never. */
  frozenAt = -1
  /** How many handlers have been started. */
  starts = 0
  /** Simulated time since when its queue has started. */
  worksSince = Infinity
  stopBeganAt: number | undefined
  stopEndedAt: number | undefined
  readonly #world: World
  readonly #plan: HostPlan
  #troubles = 0
  #troubledAt = -1
  readonly #chance: Chance
  readonly #onDeath: (() => void)[] = []
  /** Everything that was delivered here, by id and attempt. */
  readonly #delivered = new Map<string, readonly LeaseRecord[]>()
  /** Delivered here and not started, by id and attempt. */
  readonly #unstarted = new Map<string, LeaseRecord>()
  readonly #running = new Set<LeaseRecord>()
  readonly #handledSince = new Map<string, number>()
  /** Simulated time since when nothing of a topic runs or waits here; absent before it has a handler. */
  readonly #idleSince = new Map<string, number>()
  /**
   * Since a handler was added when others had taken its slot, until there is one for every topic that has nothing here: so
   * long any topic may have to wait for another, because what runs is not driven out.
   */
  #isCrowded = false

  constructor(world: World, plan: HostPlan, life: number) {
    this.#world = world
    this.#plan = plan
    this.host = plan.name
    this.name = `${plan.name}.${life}`
    this.#chance = world.chance.stream(this.name)
    this.clock = new ProcessClock(world, this, this.#chance.stream('clock'))
    this.keyed = new KeyActions(world, this.#chance.stream('keys'))
    this.rate = new RateCheck(world, this.name, () => this.held)
    this.store = asOne(world.partitions.map((partition) => this.#lineTo(partition)))
    this.queue = this.#makeQueue(plan)
    world.fairness.watch(this)
  }

  /** Handlers that have started and not ended. */
  get running(): ReadonlySet<LeaseRecord> {
    return this.#running
  }

  /** How many leases it may have, at most. */
  get held(): number {
    return this.#unstarted.size + this.#running.size
  }

  onDeath(end: () => void): void {
    this.#onDeath.push(end)
  }

  die(how: string): void {
    if (this.isDead) return
    this.isDead = true
    this.#world.tally.kills += 1
    this.#world.history.note(this.name, () => `dies ${how}`)
    for (const end of this.#onDeath) end()
  }

  /** Simulated time until which calls went wrong or it stood still; Infinity while one goes wrong, -1 for never. */
  get troubledAt(): number {
    return this.#troubles > 0 ? Infinity : this.#troubledAt
  }

  beginTrouble(): void {
    this.#troubles += 1
  }

  endTrouble(): void {
    this.#troubles -= 1
    this.#troubledAt = Math.max(this.#troubledAt, this.#world.timeline.now)
  }

  freeze(forMs: number): void {
    const { timeline, tally, history } = this.#world
    this.frozenAt = timeline.now
    this.frozenUntil = Math.max(this.frozenUntil, timeline.now + forMs)
    this.#troubledAt = this.frozenUntil
    tally.freezes += 1
    history.note(this.name, () => `freezes for ${Math.round(forMs)} ms`)
  }

  /** A claim's answer has arrived here. */
  deliver(ref: LeaseRef): void {
    const lease = this.#world.ledger.leaseOf(ref)
    if (lease === undefined) return
    lease.isDelivered = true
    lease.deliveredAt = this.#world.timeline.now
    const key = `${lease.id} ${lease.attempt}`
    this.#delivered.set(key, [...(this.#delivered.get(key) ?? []), lease])
    this.#world.history.note(this.name, () => `gets ${lease.id} attempt ${lease.attempt} (${lease.from})`)
    // Our own have slots of their own, and no handler that could be seen to start.
    if (lease.from !== 'due' || isControl(lease.topic)) return
    this.#unstarted.set(key, lease)
    this.#idleSince.set(lease.topic, Infinity)
    this.#world.fairness.delivered(lease, this)
  }

  /** It settles a lease for the first time. */
  answered(lease: LeaseRecord): void {
    const key = `${lease.id} ${lease.attempt}`
    if (this.#unstarted.get(key) === lease) this.#unstarted.delete(key)
    this.#noteIdle(lease.topic)
  }

  /** Simulated time; Infinity while it has something of this topic, or no handler for it. */
  idleSince(topic: string): number {
    return this.#idleSince.get(topic) ?? Infinity
  }

  handledSince(topic: string): number {
    return this.#handledSince.get(topic) ?? Infinity
  }

  get hasSlotsForAll(): boolean {
    return this.#plan.concurrency >= this.#plan.topics.length
  }

  #noteIdle(topic: string): void {
    if (!this.#idleSince.has(topic)) return // It settles what others left behind.
    const { now } = this.#world.timeline
    const busy = this.#busyTopics()
    if (!this.#isCrowded && !busy.has(topic)) this.#idleSince.set(topic, now)
    if (!this.#isCrowded || !this.#hasSlotForEachIdle(busy)) return
    this.#isCrowded = false
    for (const each of this.#idleSince.keys()) if (!busy.has(each)) this.#idleSince.set(each, now)
  }

  /** A handler was added. */
  #noteHandled(topic: string): void {
    const { now } = this.#world.timeline
    this.#handledSince.set(topic, now)
    this.#idleSince.set(topic, now)
    this.#isCrowded ||= !this.#hasSlotForEachIdle(this.#busyTopics())
    if (this.#isCrowded) for (const each of this.#idleSince.keys()) this.#idleSince.set(each, Infinity)
  }

  #busyTopics(): ReadonlySet<string> {
    return new Set([...this.#unstarted.values(), ...this.#running].map((lease) => lease.topic))
  }

  #hasSlotForEachIdle(busy: ReadonlySet<string>): boolean {
    const idle = [...this.#idleSince.keys()].filter((topic) => !busy.has(topic))
    return this.#plan.concurrency - this.held >= idle.length
  }

  #lineTo(partition: Partition): Link {
    const name = partition.number === 0 ? 'link' : `link ${partition.number}`
    return new Link(this.#world, partition, this, this.#chance.stream(name))
  }

  #makeQueue(plan: HostPlan): Queue {
    const { leaseMs, fallbackMs, timeoutMs, retry } = this.#world.plan
    const schemas = schemasFor(this.#world, this, plan.topics)
    this.hasSchemas = schemas !== undefined
    const settings = parseSettings({
      // A URL stands for a store that the queue opens and closes itself; which one it is, is our choice here.
      store: plan.ownsStore ? 'memory:' : this.store,
      clock: this.clock,
      random: this.#chance.stream('queue'),
      concurrency: plan.concurrency,
      lease: leaseMs,
      fallback: fallbackMs,
      timeout: timeoutMs,
      stopTimeout: plan.stopTimeoutMs,
      retry,
      logger: false,
      ...(schemas === undefined ? {} : { topics: schemas }),
    })
    const queue = new Queue(settings, () => Promise.resolve(this.store))
    for (const topic of plan.topics) {
      const handle = (): void => {
        if (this.stopBeganAt !== undefined) return
        queue.handle(topic, (message) => this.#handle(message), { concurrency: plan.topicConcurrency })
        this.#noteHandled(topic)
      }
      // Some are added to a queue that already runs.
      if (this.#chance.happens(LATE_TOPICS))
        this.#world.timeline.after(this.#chance.spread(1, 1_000), this, handle)
      else handle()
    }
    this.#hear(queue)
    return queue
  }

  #handle(message: Message): unknown {
    if (this.isDead) return never()
    const { history, tally, timeline, weather, plan } = this.#world
    const key = `${message.id} ${message.attempt}`
    const lease = this.#unstarted.get(key)
    this.#unstarted.delete(key)
    if (lease === undefined) {
      this.#world.violations.add('P6', `${this.name} starts ${key} without a claim`)
      return undefined
    }
    this.#checkStart(lease)
    this.#checkPaused(lease)
    this.#checkWindow(lease)
    lease.startedAt = timeline.now
    this.starts += 1
    tally.handlersStarted += 1
    this.#running.add(lease)
    message.signal.addEventListener('abort', () => (lease.abortedAt = timeline.now))
    this.#checkConcurrency(message.topic)
    const kind = weather.isCalm ? calmKind(lease) : this.#chance.weighted(plan.handlerKinds)
    history.note(this.name, () => `handles ${lease.id} attempt ${lease.attempt}: ${kind}`)
    return this.#watch(lease, () =>
      perform(kind, { world: this.#world, process: this, chance: this.#chance, message, lease }),
    )
  }

  /** Passes on whatever the handler does, in the way it does it: at once or later. */
  #watch(lease: LeaseRecord, work: () => unknown): unknown {
    let result: unknown
    try {
      result = work()
    } catch (error) {
      this.#ended(lease, endOf(error))
      throw error
    }
    if (!(result instanceof Promise)) {
      this.#ended(lease, 'returned')
      return result
    }
    return result.then(
      () => this.#ended(lease, 'returned'),
      (error: unknown) => {
        this.#ended(lease, endOf(error))
        throw error
      },
    )
  }

  #ended(lease: LeaseRecord, end: HandlerEnd): void {
    const { history, tally, timeline } = this.#world
    lease.ended = end
    lease.endedAt = timeline.now
    this.#running.delete(lease)
    this.#noteIdle(lease.topic)
    this.rate.allow(1)
    if (end !== 'returned') tally.handlersFailed += 1
    history.note(this.name, () => `${lease.id} attempt ${lease.attempt} ${end}`)
  }

  #checkStart(lease: LeaseRecord): void {
    const { ledger, violations, timeline } = this.#world
    const { id, dueAt, attempt, policy, endsAt } = lease
    const { time } = this.#world.home(id)
    const now = time.now()
    const who = `${this.name} starts ${id} attempt ${attempt}`
    if (now + this.#unnoticedMs(lease) < dueAt)
      violations.add('P1', `${who} ${dueAt - now} ms before its moment`)
    if (lease.isMisfit && this.hasSchemas) violations.add('P6', `${who}, which its schema refuses`)
    if (attempt > policy.limit + 1) violations.add('P6', `${who} of at most ${policy.limit + 1}`)
    if (this.stopEndedAt !== undefined) violations.add('P11', `${who} after it stopped`)
    // A store whose clock was set forward ends leases sooner than their holders can know.
    const isJumped = time.jumpedAt >= 0 && timeline.now - time.jumpedAt < this.#world.plan.leaseMs * 2
    if (isJumped) return
    if (ledger.find(id)?.lease !== lease) violations.add('P3', `${who} with a lease that is over`)
    // Stores count whole milliseconds, so that a lease may end up to one earlier than its holder can know.
    else if (endsAt < now) violations.add('P3', `${who} ${now - endsAt} ms after its lease ended`)
  }

  /**
   * One that stood still, or whose wake-up or answer may have been lost, cannot know of a pause. It then has its time from the
   * moment when it could have started the message.
   */
  #checkPaused(lease: LeaseRecord): void {
    const { plan, timeline, weather } = this.#world
    const { controls, time } = this.#world.home(lease.id)
    // With a schema that takes its time the handler starts when that is over.
    if (plan.schemas === 'later') return
    const { wakeLoss, wakeDelayMs } = weather.faults
    const isTold = wakeLoss === 0 && wakeDelayMs <= HEARD_MS_MAX
    const isWell = this.troubledAt < lease.grantedAt && this.frozenAt < lease.grantedAt
    const dueForMs = time.now() - lease.dueAt
    const couldStartAt = Math.max(lease.deliveredAt, timeline.now - dueForMs, this.frozenUntil)
    controls.started(lease, this.name, isTold && isWell ? -Infinity : couldStartAt)
  }

  /**
   * P19. The moment of a start is counted from the answer that brought the message, and the store's clock goes ahead of that by
   * the time which the answer took. With a schema that takes its time the handler starts when that is over.
   */
  #checkWindow(lease: LeaseRecord): void {
    const { plan, timeline, violations } = this.#world
    const { grantedAt, deliveredAt, id, attempt, policy } = lease
    const { time } = this.#world.home(id)
    if (policy.window === undefined || plan.schemas === 'later' || time.jumpedAt >= grantedAt) return
    const unnoticedMs = this.#unnoticedMs(lease)
    const now = time.now()
    const fromAt = now - (deliveredAt - grantedAt) - unnoticedMs - 1
    if (wasQuiet(policy.window, fromAt, now + unnoticedMs))
      violations.add(
        'P19',
        `${this.name} starts ${id} attempt ${attempt} outside its window, at ${timeline.now}`,
      )
  }

  /**
   * A clock that is set back calls nothing back that it had handed out; and one that was set back by less than an answer
   * takes cannot be told from one that was not, so that what is leased ahead may start ahead.
   */
  #unnoticedMs({ id, setBackMs }: LeaseRecord): number {
    const { time } = this.#world.home(id)
    return time.setBackMs === 0 ? 0 : time.setBackMs - setBackMs + this.#world.plan.leadMs
  }

  /** A handler whose signal aborted keeps its slot for a short grace; what it does after that is no longer counted. */
  #checkConcurrency(topic: string): void {
    const { timeline, violations } = this.#world
    const counted = [...this.#running].filter(
      ({ abortedAt = Infinity }) => timeline.now - abortedAt < ABORT_GRACE_MS,
    )
    const ofTopic = counted.filter((lease) => lease.topic === topic)
    const { concurrency, topicConcurrency } = this.#plan
    if (counted.length > concurrency || ofTopic.length > topicConcurrency)
      violations.add(
        'P10',
        `${this.name} runs ${counted.length} handlers, ${ofTopic.length} of them for ${topic}`,
      )
  }

  /** What a queue tells about its messages must be so. */
  #hear(queue: Queue): void {
    const { violations, plan, tally } = this.#world
    const expectSettled = (
      event: { id: string; attempt: number },
      ...kinds: readonly Settlement['kind'][]
    ): void => {
      const leases = this.#delivered.get(`${event.id} ${event.attempt}`) ?? []
      if (!leases.some(({ settledAs }) => settledAs !== undefined && kinds.includes(settledAs)))
        violations.add('P4', `${this.name} reports "${kinds[0]}" of ${event.id}; the store does not know`)
    }
    queue.on('completed', (event) => {
      tally.completed += 1
      expectSettled(event, 'ack')
    })
    queue.on('skipped', (event) => expectSettled(event, 'ack'))
    queue.on('snoozed', (event) => expectSettled(event, 'again'))
    queue.on('postponed', (event) => {
      tally.postponed += 1
      expectSettled(event, 'again')
    })
    queue.on('retrying', (event) => expectSettled(event, 'retry', 'lapse'))
    queue.on('dead', (event) => expectSettled(event, 'dead'))
    queue.on('lost', ({ id, attempt, maybeSettled }) => {
      // Where calls are doubled on the way, the answer to the second is all that one hears.
      if (maybeSettled || plan.faults.duplicate > 0) return
      const leases = this.#delivered.get(`${id} ${attempt}`)?.filter(({ from }) => from === 'due') ?? []
      if (leases.every(({ settledAs }) => settledAs !== undefined))
        violations.add('P4', `${this.name} reports ${id} as lost, but has settled it`)
    })
  }
}

function endOf(error: unknown): HandlerEnd {
  const name = error instanceof Error ? error.name : ''
  return name === 'DeadLetter' ? 'threw DeadLetter' : name === 'Snooze' ? 'snoozed' : 'threw'
}
