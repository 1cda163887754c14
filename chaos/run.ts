/**
 * One run: start, storm, quiet, calm, stop, census, audit.
 *
 *   start   an empty store, a proxy for each process, producers, workers, a bookkeeper
 *   storm   load and faults, both by the seed
 *   quiet   all faults are undone and no process produces; all that is due must be worked off
 *   calm    a batch of plain messages, whose lateness counts
 *   stop    everybody is asked to stop, and must
 *   census  what is left in the store; nothing should be
 *   audit   the logs
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Chance } from '../simulation/world/chance.ts'
import { assertNever } from '../src/core/errors.ts'
import type { Finding } from './audit.ts'
import { Place, type Role } from './cast.ts'
import { Log } from './children/log.mjs'
import type { Engine, EngineName } from './engines/engine.ts'
import { ClusterEngine } from './engines/cluster.ts'
import { FileEngine } from './engines/file.ts'
import { MysqlEngine } from './engines/mysql.ts'
import { PostgresEngine } from './engines/postgres.ts'
import { RedisEngine } from './engines/redis.ts'
import { Faults } from './faults.ts'
import type { Line } from './lines.ts'
import { readLogs } from './logs.ts'
import { planFaults } from './plan.ts'
import { judge, type Verdict } from './verdict.ts'
import { sleep, until } from './waiting.ts'

export type RunOptions = {
  readonly engine: EngineName
  readonly minutes: number
  readonly seed: number
  /** Messages per second, all producers together. */
  readonly rate: number
  /** Progress, a line every few seconds, and what the reader should know. */
  readonly say: (text: string) => void
  /** Aborts when the user has enough. */
  readonly ended: AbortSignal
}

/** `directory`: of the logs. */
export type Result = Verdict & { readonly lines: readonly Line[]; readonly directory: string }

const PRODUCERS = 3
const WORKERS = 4
const TOPICS = ['orders', 'mails', 'slow'] as const
const LEASE_MS = 2_000
const STOP_TIMEOUT_MS = 6_000
/** The promise is the timeout and five seconds more; the rest is for a loaded machine. */
const STOP_MS_MAX = STOP_TIMEOUT_MS + 5_000 + 3_000
const PROGRESS_EVERY_MS = 5_000
const ASK_AGAIN_MS = 2_000
const STANDSTILL_MS = 90_000
const CALM = { messages: 200, overMs: 6_000 }
const REFILL_MS_MAX = 1_000

export async function run(options: RunOptions): Promise<Result> {
  const directory = mkdtempSync(join(tmpdir(), 'punctual-chaos-'))
  const production = new Production(options, directory)
  let isInterrupted = false
  try {
    await production.open()
    await production.storm()
    const findings = [
      ...(await production.quiet()),
      ...(await production.calm()),
      ...(await production.stop()),
    ]
    return await production.judge(findings)
  } catch (error) {
    isInterrupted = error instanceof Interrupted
    if (!isInterrupted) options.say(`the run itself failed; the logs are in ${directory}`)
    throw error
  } finally {
    await production.end()
    if (isInterrupted) rmSync(directory, { recursive: true, force: true })
  }
}

async function openEngine(name: EngineName, directory: string): Promise<Engine> {
  switch (name) {
    case 'redis':
      return RedisEngine.open(directory)
    case 'cluster':
      return ClusterEngine.open()
    case 'mysql':
      return MysqlEngine.open(directory)
    case 'postgres':
      return PostgresEngine.open(directory)
    case 'file':
      return new FileEngine(directory)
    default:
      return assertNever(name)
  }
}

class Production {
  readonly #options: RunOptions
  readonly #directory: string
  readonly #logs: string
  readonly #places: Place[] = []
  readonly #log: Log
  readonly #storeLog: Log
  readonly #beganAt = performance.now()
  #engine: Engine | undefined
  #faults: Faults | undefined
  #isResting = false

  constructor(options: RunOptions, directory: string) {
    this.#options = options
    this.#directory = directory
    this.#logs = join(directory, 'logs')
    mkdirSync(this.#logs)
    this.#log = new Log(join(this.#logs, 'faults.log'))
    this.#storeLog = new Log(join(this.#logs, 'store.log'))
  }

  async open(): Promise<void> {
    const { engine: name, seed, say, rate } = this.#options
    const engine = await openEngine(name, this.#directory)
    this.#engine = engine
    for (const remark of engine.remarks) say(remark)
    const chance = new Chance(seed, 'cast')
    const urls = new Map<string, string>()
    const shared = {
      queue: 'chaos',
      topics: TOPICS,
      leaseMs: LEASE_MS,
      lease: LEASE_MS,
      stopTimeout: STOP_TIMEOUT_MS,
      hasLimits: engine.hasLimits,
    }
    const casting = {
      directory: this.#logs,
      faults: this.#log,
      nextPauseMs: () => chance.whole(50, REFILL_MS_MAX),
      optionsFor: (place: Place, number: number) => ({
        ...shared,
        store: urls.get(place.name),
        isMortal: place.isMortal,
        seed: Math.floor(new Chance(seed, `${place.name}.${number}`).next() * 2 ** 32),
        perSecond: rate / PRODUCERS,
        isResting: this.#isResting,
      }),
    }
    const add = async (role: Role, index: number): Promise<void> => {
      const place = new Place(role, index, casting)
      urls.set(place.name, await engine.urlFor(role === 'bookkeeper' ? '' : place.name))
      this.#places.push(place)
    }
    await add('bookkeeper', 1)
    for (let i = 1; i <= WORKERS; i += 1) await add('worker', i)
    for (let i = 1; i <= PRODUCERS; i += 1) await add('producer', i)
    for (const place of this.#places) {
      place.fill()
      if (place.role === 'bookkeeper') await place.whenHeard('ready') // Makes the store before others share it.
    }
    await Promise.all(this.#places.map((place) => place.whenHeard('ready')))
  }

  async storm(): Promise<void> {
    const { minutes, seed, ended } = this.#options
    const engine = this.#theEngine()
    const plan = planFaults({
      seed,
      stormMs: minutes * 60_000,
      engineFaults: engine.faults,
      engineGapMs: engine.faultGapMs,
    })
    const faults = new Faults({
      engine,
      places: this.#places.filter(({ role }) => role !== 'bookkeeper'),
      log: this.#log,
    })
    this.#faults = faults
    const progress = setInterval(() => this.#showProgress('storm'), PROGRESS_EVERY_MS)
    try {
      await faults.carryOut(plan, ended)
      while (!ended.aborted && performance.now() - this.#beganAt < minutes * 60_000) await sleep(50)
    } finally {
      clearInterval(progress)
    }
    this.#assertGoesOn()
  }

  /** All processes run undisturbed until everything that is due is worked off. */
  async quiet(): Promise<Finding[]> {
    this.#isResting = true
    await this.#theEngine().heal()
    const producers = this.#places.filter(({ role }) => role === 'producer')
    await until('every producer rests', () => {
      this.#assertGoesOn()
      for (const producer of producers) if (!producer.heard('resting')) producer.tell('rest')
      return producers.every((producer) => producer.heard('resting') !== undefined)
    })
    await this.#askBookkeeper('lift')
    await this.#askBookkeeper('doctor')
    let shownAt = 0
    // A busy machine works a large backlog off slowly: it is given up when that grows no smaller.
    let [least, leastAt] = [Infinity, performance.now()]
    for (;;) {
      this.#assertGoesOn()
      const counts = await this.#askCounts()
      const busy = (counts['delayed'] ?? 0) + (counts['ready'] ?? 0) + (counts['running'] ?? 0)
      if (busy === 0) return []
      if (busy < least) [least, leastAt] = [busy, performance.now()]
      if (performance.now() - leastAt > STANDSTILL_MS)
        return [
          {
            promise: 'P8',
            what: `the faults are over, and for ${STANDSTILL_MS / 1_000} s there are still ${JSON.stringify(counts)}`,
          },
        ]
      if (performance.now() - shownAt > PROGRESS_EVERY_MS) {
        this.#showProgress(`quiet, ${busy} to go`)
        shownAt = performance.now()
      }
      await sleep(200)
    }
  }

  async #askCounts(): Promise<Readonly<Record<string, number>>> {
    const { counts } = await this.#askBookkeeper('counts', 'store')
    return (counts ?? {}) as Readonly<Record<string, number>>
  }

  /** Its line may still be recovering: a question that failed is asked again. */
  async #askBookkeeper(question: string, answer = question): Promise<Readonly<Record<string, unknown>>> {
    const bookkeeper = this.#bookkeeper()
    bookkeeper.forget(answer)
    let askedAt = Number.NEGATIVE_INFINITY
    await until(`the bookkeeper answers "${question}"`, () => {
      this.#assertGoesOn()
      if (performance.now() - askedAt > ASK_AGAIN_MS) {
        bookkeeper.tell(question)
        askedAt = performance.now()
      }
      return bookkeeper.heard(answer) !== undefined
    })
    return bookkeeper.heard(answer) ?? {}
  }

  async calm(): Promise<Finding[]> {
    await until('every worker is there', () =>
      this.#places.every((place) => place.role !== 'worker' || place.heard('ready') !== undefined),
    )
    this.#showProgress('calm')
    const [producer] = this.#places.filter(({ role }) => role === 'producer')
    producer?.tell('calm', CALM)
    await producer?.whenHeard('calm')
    await sleep(CALM.overMs)
    return this.quiet()
  }

  async stop(): Promise<Finding[]> {
    const bookkeeper = this.#bookkeeper()
    const others = this.#places.filter((place) => place !== bookkeeper)
    await this.#stopAll(others)
    bookkeeper.tell('census')
    await bookkeeper.whenHeard('census')
    await this.#askBookkeeper('doctor')
    const leftovers = await this.#theEngine().leftovers()
    await this.#stopAll([bookkeeper])
    return leftovers.map((what) => ({ promise: 'P8', what: `left in the empty store: ${what}` }))
  }

  async #stopAll(places: readonly Place[]): Promise<void> {
    for (const place of places) {
      place.close()
      place.tell('stop')
    }
    // A process that does not stop leaves no report, which is a finding.
    await until('all have stopped', () => places.every(({ isRunning }) => !isRunning)).catch(() => undefined)
  }

  async judge(findings: readonly Finding[]): Promise<Result> {
    const { engine, minutes, seed } = this.#options
    const lines = await readLogs(this.#logs)
    const verdict = judge(lines, {
      engine,
      minutes,
      seed,
      faults: this.#faults?.counts ?? {},
      findings,
      last: this.#places.map(({ who }) => who),
      rules: {
        stopMs: STOP_MS_MAX,
        isExpected: (complaint) => this.#theEngine().isExpected(complaint),
        forgets: this.#theEngine().forgets,
      },
    })
    return { ...verdict, lines, directory: this.#logs }
  }

  /** No process or file of the run is left behind, even after a failure. */
  async end(): Promise<void> {
    for (const place of this.#places) place.close()
    await Promise.all(this.#places.map((place) => place.kill()))
    await this.#engine?.end()
    for (const log of [this.#log, this.#storeLog]) log.close()
  }

  #showProgress(phase: string): void {
    const sum = (what: string): number =>
      this.#places.reduce((total, place) => total + place.counted(what), 0)
    const elapsedS = Math.round((performance.now() - this.#beganAt) / 1_000)
    this.#options.say(
      `${String(elapsedS).padStart(5)} s  ${phase}: ${sum('promised')} promised, ${sum('completed')} completed, ` +
        `${sum('dead')} dead, ${this.#faults?.total ?? 0} faults`,
    )
    this.#theEngine()
      .sample(this.#storeLog)
      .catch(() => undefined) // The server may be down just now.
  }

  #theEngine(): Engine {
    if (this.#engine === undefined) throw new Error('no engine was opened')
    return this.#engine
  }

  #bookkeeper(): Place {
    const bookkeeper = this.#places.find(({ role }) => role === 'bookkeeper')
    if (bookkeeper === undefined) throw new Error('there is no bookkeeper')
    return bookkeeper
  }

  #assertGoesOn(): void {
    if (this.#options.ended.aborted) throw new Interrupted()
  }
}

export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

export function removeLogs(directory: string): void {
  rmSync(join(directory, '..'), { recursive: true, force: true })
}
