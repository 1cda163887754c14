/** A machine on which one process runs at a time: started, killed, stopped in order, started again. */
import { STOP_OVERTIME_MS, type StopReport } from '../../src/runtime/stopping.ts'
import type { Chance } from './chance.ts'
import { SimulatedProcess } from './process.ts'
import type { HostPlan } from '../plan.ts'
import { checkStopReport, observeStop } from '../judges/stop-check.ts'
import type { World } from './world.ts'

const RESTART_MS_MAX = 20_000
const START_AGAIN_MS = 1_000
/** The share of lives that are stopped just after they began. */
const SHORT_LIVES = 0.1
const SHORT_LIFE_MS_MAX = 1_000
/** The share of stops that a kill ends. */
const KILLED_STOPS = 0.2

export class Host {
  readonly plan: HostPlan
  readonly #world: World
  readonly #chance: Chance
  #process: SimulatedProcess | undefined
  #lives = 0
  #isRetired = false
  /** Of every stop that ended. */
  readonly reports: StopReport[] = []

  constructor(world: World, plan: HostPlan) {
    this.#world = world
    this.plan = plan
    this.#chance = world.chance.stream(`host ${plan.name}`)
  }

  get name(): string {
    return this.plan.name
  }

  /** Undefined while it is down. */
  get process(): SimulatedProcess | undefined {
    return this.#process?.isDead === true ? undefined : this.#process
  }

  start(): void {
    if (this.process !== undefined) return
    this.#lives += 1
    const process = new SimulatedProcess(this.#world, this.plan, this.#lives)
    this.#process = process
    this.#world.history.note(process.name, () => `starts: ${this.plan.topics.join(', ') || 'produces only'}`)
    process.onDeath(() => this.#restartLater())
    if (this.plan.topics.length > 0) this.#startQueue(process)
    if (this.#chance.happens(SHORT_LIVES) && !this.#world.weather.isCalm)
      this.#world.timeline.after(this.#chance.spread(0, SHORT_LIFE_MS_MAX), process, () => this.stop())
  }

  kill(): void {
    this.process?.die('by signal')
  }

  /** `stop()` in order; a new process follows. A frozen one hears of it when it thaws. */
  stop(): void {
    const process = this.process
    if (process !== undefined) this.#world.timeline.after(0, process, () => this.#stop(process))
  }

  #stop(process: SimulatedProcess): void {
    if (process.stopBeganAt !== undefined) return
    const { timeline, tally, history, violations } = this.#world
    history.note(process.name, () => 'stops')
    tally.stops += 1
    process.stopBeganAt = timeline.now
    if (this.#chance.happens(KILLED_STOPS)) this.#killWhileStopping(process)
    const observed = observeStop(process)
    const capMs = this.plan.stopTimeoutMs + STOP_OVERTIME_MS + this.#slackMs()
    timeline.after(capMs, process, () => {
      const wasFrozen = process.frozenAt >= (process.stopBeganAt ?? 0)
      if (process.stopEndedAt === undefined && !wasFrozen)
        violations.add('P11', `${process.name} has not stopped after ${capMs} ms`)
    })
    process.queue.stop().then(
      (report) => {
        process.stopEndedAt = timeline.now
        this.reports.push(report)
        history.note(process.name, () => `stopped: ${JSON.stringify(report)}`)
        checkStopReport(this.#world, process, observed, report)
        this.#process = undefined
        this.#restartLater()
      },
      (error: unknown) => violations.add('P11', `${process.name}: stop() rejects: ${String(error)}`),
    )
  }

  /** Stops for good. */
  retire(): void {
    this.#isRetired = true
    this.stop()
  }

  #killWhileStopping(process: SimulatedProcess): void {
    const { timeline, plan, weather } = this.#world
    if (plan.disturbances.kills === 0) return
    timeline.after(this.#chance.next() * this.plan.stopTimeoutMs, undefined, () => {
      if (process.stopEndedAt === undefined && !weather.isCalm) process.die('while it stops')
    })
  }

  /** A start that fails is tried again, as whoever runs the process would. */
  #startQueue(process: SimulatedProcess): void {
    const { timeline, history } = this.#world
    process.queue.start().then(
      () => {
        process.worksSince = timeline.now
        history.note(process.name, () => 'has started')
      },
      (error: unknown) => {
        history.note(process.name, () => `does not start: ${String(error)}`)
        timeline.after(START_AGAIN_MS, process, () => {
          if (process.stopBeganAt === undefined) this.#startQueue(process)
        })
      },
    )
  }

  #restartLater(): void {
    const { timeline, weather } = this.#world
    if (this.#isRetired) return
    const waitMs = weather.isCalm ? 1 : this.#chance.spread(1, RESTART_MS_MAX)
    timeline.after(waitMs, undefined, () => this.start())
  }

  /** Seven steps, each of which may wait for a timer that fires late. */
  #slackMs(): number {
    return 7 * this.#world.weather.faults.timerLagMs + 10
  }
}
