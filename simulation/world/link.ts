/**
 * The line from one process to the store, or to one partition of it. A call travels there, takes effect, and its answer travels back: three
 * separate moments, and the process may die, freeze or be cut off between any two of them.
 *
 *   process ──call──► · · · ──► store (effect) ──answer──► · · · ──► process
 *              │ refuse: ends here               │ lose: ends here
 *              │ kill: perhaps the last call     │ kill: nobody hears the answer
 *              └ duplicate: takes effect twice   └ slow: after seconds
 *
 * A call without an answer is given up after a while, as every client of a server does. Wake-ups travel on their own,
 * and may come late, twice, in another order, or not at all.
 */
import { UnavailableError, UsageError } from '../../src/core/errors.ts'
import type * as contract from '../../src/store/contract/store.ts'
import { StoreWrapper, type StoreVerb } from '../../src/store/contract/verbs.ts'
import { AuditedStore } from './audited-store.ts'
import type { Chance } from './chance.ts'
import { never } from './never.ts'
import type { Partition } from './partition.ts'
import type { SimulatedProcess } from './process.ts'
import type { World } from './world.ts'

type Fate = 'pass' | 'refuse' | 'lose' | 'duplicate' | 'slow' | 'silence'

export class Link extends StoreWrapper {
  readonly #partition: Partition
  readonly #world: World
  readonly #process: SimulatedProcess
  readonly #chance: Chance

  constructor(world: World, partition: Partition, process: SimulatedProcess, chance: Chance) {
    super(new AuditedStore(world, partition, process), overrides(world))
    this.#world = world
    this.#partition = partition
    this.#process = process
    this.#chance = chance
  }

  override around<T>(verb: StoreVerb, args: readonly unknown[], call: () => Promise<T>): Promise<T> {
    return this.#travel(this.#nameOf(verb, args), () => summaryOf(args), call)
  }

  override async claim(request: contract.ClaimRequest): Promise<contract.ClaimReply> {
    if (this.#process.stopEndedAt !== undefined)
      this.#world.violations.add('P11', `${this.#process.name} claims after it stopped`)
    const reply = await super.claim(request)
    for (const lease of reply.leases) this.#process.deliver(lease)
    this.#process.rate.allow(reply.leases.length)
    return reply
  }

  override async extend(
    leases: readonly contract.LeaseRef[],
    leaseMs: number,
  ): Promise<contract.ExtendResult[]> {
    const results = await super.extend(leases, leaseMs)
    for (const [i, ref] of leases.entries()) {
      const lease = this.#world.ledger.leaseOf(ref)
      if (lease !== undefined && results[i] === 'lost') lease.isLost = true
    }
    return results
  }

  override settle(settlements: readonly contract.Settlement[]): Promise<contract.SettleResult[]> {
    for (const settlement of settlements) {
      const lease = this.#world.ledger.leaseOf(settlement)
      if (lease === undefined || lease.isAnswered) continue
      lease.isAnswered = true
      lease.answer = settlement.kind
      this.#process.answered(lease)
      this.#process.rate.allow(1) // Its first try; the others must not come too often.
    }
    return super.settle(settlements)
  }

  override onWake(listener: (wake: contract.WakeUp) => void, owner?: string): () => void {
    const { plan, timeline, tally, weather } = this.#world
    if (!plan.isRemote) return super.onWake((wake) => this.#hearInside(() => listener(wake)), owner)
    const arrive = (wake: contract.WakeUp): void => {
      this.#process.rate.allow(1)
      listener(wake)
    }
    const end = super.onWake((wake) => {
      const { wakeLoss, wakeDuplicate, wakeDelayMs } = weather.faults
      const isLost =
        this.#chance.happens(wakeLoss) ||
        weather.outageOf(this.#process.host, this.#partition.number) !== undefined
      if (isLost) tally.wakesLost += 1
      else timeline.after(this.#chance.next() * wakeDelayMs, this.#process, () => arrive(wake))
      if (this.#chance.happens(wakeDuplicate) && !isLost)
        timeline.after(this.#chance.next() * wakeDelayMs, this.#process, () => arrive(wake))
    }, owner)
    this.#process.onDeath(end)
    return end
  }

  /** The two kinds of claim have their own rates and times. */
  #nameOf(verb: StoreVerb, [first]: readonly unknown[]): string {
    const name = verb === 'claim' ? `claim ${(first as contract.ClaimRequest).from}` : verb
    return this.#world.partitions.length === 1 ? name : `${name} in ${this.#partition.number + 1}`
  }

  /** An engine inside a process that stands still is heard when that goes on. */
  #hearInside(hear: () => void): void {
    const { timeline } = this.#world
    if (this.#process.frozenUntil > timeline.now) timeline.after(0, this.#process, hear)
    else hear()
  }

  #travel<T>(verb: string, detail: () => string, effect: () => Promise<T>): Promise<T> {
    const { plan, tally, history } = this.#world
    if (this.#process.isDead) return never()
    tally.calls += 1
    if (this.#process.rate.count(verb)) return never()
    history.note(this.#process.name, () => `${verb} ${detail()}`)
    // In the same process nothing travels.
    if (plan.engine === 'memory') return this.#withinBounds(verb, effect)
    const isLast = this.#chance.happens(this.#world.weather.faults.killAtCall)
    if (isLast) this.#process.die(`at its call ${verb}`)
    if (isLast && this.#chance.happens(0.5)) return never()
    return this.#send(verb, this.#fate(), () => this.#withinBounds(verb, effect))
  }

  #send<T>(verb: string, fate: Fate, effect: () => Promise<T>): Promise<T> {
    const { timeline, history } = this.#world
    const answer = (afterMs: number, act: () => void): void => {
      timeline.after(afterMs, this.#process, () => {
        if (fate !== 'pass') this.#process.endTrouble()
        act()
      })
    }
    return new Promise((resolve, reject) => {
      const fail = (afterMs: number): void => {
        answer(afterMs, () => {
          history.note(this.#process.name, () => `${verb} fails (${fate})`)
          reject(unavailable(verb))
        })
      }
      const arrive = (): void => {
        const isHeard = fate !== 'lose' && fate !== 'silence'
        const acting = fate === 'duplicate' ? effect().then(effect) : effect()
        if (!isHeard) fail(this.#lostAfterMs(fate))
        acting.then(
          (reply) => isHeard && answer(this.#returnMs(fate), () => resolve(reply)),
          (error: unknown) => isHeard && answer(this.#returnMs(fate), () => reject(asError(error))),
        )
      }
      if (fate !== 'pass') this.#process.beginTrouble()
      // Sent is sent: what is on its way arrives, even if its sender dies meanwhile.
      if (fate === 'refuse') fail(this.#latencyMs())
      else if (fate === 'silence' && this.#chance.happens(0.5)) fail(this.#world.plan.patienceMs)
      else timeline.after(this.#latencyMs(), undefined, arrive)
    })
  }

  #fate(): Fate {
    const { tally, weather, plan } = this.#world
    if (!plan.isRemote) return 'pass'
    const { refuse, lose, duplicate, slow } = weather.faults
    const outage = weather.outageOf(this.#process.host, this.#partition.number)
    if (outage === 'refusing' || this.#chance.happens(refuse)) {
      tally.refused += 1
      return 'refuse'
    }
    if (outage === 'silent' || this.#chance.happens(lose)) {
      tally.repliesLost += 1
      return outage === undefined ? 'lose' : 'silence'
    }
    if (this.#chance.happens(duplicate)) {
      tally.duplicated += 1
      return 'duplicate'
    }
    if (!this.#chance.happens(slow)) return 'pass'
    tally.slow += 1
    return 'slow'
  }

  #latencyMs(): number {
    return this.#chance.next() * this.#world.weather.faults.latencyMs
  }

  #returnMs(fate: Fate): number {
    return fate === 'slow' ? this.#chance.next() * this.#world.plan.patienceMs : this.#latencyMs()
  }

  /** A broken connection is noticed at once, a silent one only after a while. */
  #lostAfterMs(fate: Fate): number {
    const isNoticed = fate === 'lose' && this.#chance.happens(0.5)
    return isNoticed ? this.#latencyMs() : this.#world.plan.patienceMs
  }

  /** The runtime never sends more than a store takes: a refusal for that reason is its mistake. */
  async #withinBounds<T>(verb: string, effect: () => Promise<T>): Promise<T> {
    try {
      return await effect()
    } catch (error) {
      if (error instanceof UsageError)
        this.#world.violations.add('P10', `${this.#process.name}: ${verb}: ${error.message}`)
      throw error
    }
  }
}

/** An engine that many share through a network loses wake-ups. */
function overrides({ plan }: World): Partial<contract.Capabilities> {
  if (!plan.isRemote) return {}
  return plan.engine === 'model' ? { shared: true } : { shared: true, wakes: 'hint' }
}

function unavailable(verb: string): UnavailableError {
  return new UnavailableError('STORE_UNAVAILABLE', `${verb}: no answer from the store (simulated).`)
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

const SUMMARY_MAX = 300

/** A call in one line of a history: ids instead of whole messages. */
function summaryOf(args: readonly unknown[]): string {
  const text = JSON.stringify(args, (key, value: unknown) =>
    key === 'body' || key === 'meta' ? undefined : value,
  )
  return text.length <= SUMMARY_MAX ? text : `${text.slice(0, SUMMARY_MAX)}…`
}
