/**
 * A connection to Redis that is there whenever it can be.
 *
 *   resting ──start──► connecting ──► ready
 *                        ▲  │failed     │lost
 *                        │  ▼           ▼
 *                        └─ pausing ◄───┘              any ──close──► closed
 *
 * Calls made while there is no connection wait for one, at most `callTimeoutMs` and at most CALLS_MAX of them. Each
 * call is sent once: when the connection breaks before its reply, it fails, and whether it took effect is unknown.
 * A call that was sent and got no reply in time condemns the connection: replies come in order, so whatever stands
 * behind it is stuck too, and a half-open socket looks exactly like this. Time in which this process stood still does
 * not count: `deadline`.
 *
 * The pause between attempts grows while no reply comes, and starts over after the first reply; a server that accepts
 * connections and refuses every call is not hammered.
 */
import type { Clock, Timer } from '../../../clock.ts'
import { UnavailableError, UsageError, type PunctualError } from '../../../core/errors.ts'
import type { Logger } from '../../../core/log.ts'
import type { Random } from '../../../random.ts'
import type { Connect, Connection } from './connection.ts'
import { startDeadline } from './deadline.ts'
import { DEMOTED, refusalWord, toOpeningError, toPunctualError } from './refusals.ts'

const PAUSE_MS_MIN = 50
const PAUSE_MS_MAX = 2000
export const CALLS_MAX = 10_000

export type LinkOptions = {
  /** As CLIENT LIST shows it. */
  readonly name: string
  /** As messages name it. */
  readonly server: string
  readonly connect: Connect
  readonly connectTimeoutMs: number
  readonly callTimeoutMs: number
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** What each new connection needs before it counts as ready. */
  readonly prepare?: (connection: Connection) => Promise<void>
  readonly ready?: () => void
}

type State =
  | { readonly name: 'resting' }
  | { readonly name: 'connecting'; readonly attempt: Attempt }
  | { readonly name: 'ready'; readonly connection: Connection }
  | { readonly name: 'pausing'; readonly timer: Timer }
  | { readonly name: 'closed' }

/** A connection in the making: given up by whoever is first, the deadline or `close`. */
type Attempt = { abandoned: boolean; readonly connection: Connection }

type LinkCall = {
  readonly command: readonly string[]
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: unknown) => void
  readonly deadline: Timer
  sentOn?: Connection
}

export class Link {
  readonly #options: LinkOptions
  readonly #calls = new Set<LinkCall>()
  #state: State = { name: 'resting' }
  #failures = 0
  #lastError: PunctualError | undefined

  constructor(options: LinkOptions) {
    this.#options = options
  }

  start(): void {
    if (this.#state.name === 'resting') this.#attempt()
  }

  /** Resolves to the reply; rejects with an error of ours, within `timeoutMs`. */
  call(command: readonly string[], timeoutMs = this.#options.callTimeoutMs): Promise<unknown> {
    if (this.#state.name === 'closed') return Promise.reject(this.#closedError())
    if (this.#calls.size >= CALLS_MAX)
      return Promise.reject(this.#unavailable(`${CALLS_MAX} calls wait already`))
    this.start()
    return new Promise((resolve, reject) => {
      const deadline = startDeadline(this.#options.clock, timeoutMs, () => this.#expire(call, timeoutMs))
      const call: LinkCall = { command, resolve, reject, deadline }
      this.#calls.add(call)
      if (this.#state.name === 'ready') this.#send(call, this.#state.connection)
    })
  }

  /** Goes out back to back on one connection: all of it is handed over in this very turn. */
  callTogether(commands: readonly (readonly string[])[], timeoutMs: number): Promise<unknown>[] {
    return commands.map((command) => this.call(command, timeoutMs))
  }

  /** Ends the connection without waiting for anything. */
  close(): void {
    const state = this.#state
    this.#state = { name: 'closed' }
    if (state.name === 'ready') state.connection.destroy()
    if (state.name === 'pausing') state.timer.cancel()
    if (state.name === 'connecting') abandon(state.attempt)
    for (const call of this.#calls) this.#fail(call, this.#closedError())
  }

  #attempt(): void {
    const { clock, connect, connectTimeoutMs, name } = this.#options
    const connection: Connection = connect(name, (error) => this.#lost(connection, error))
    const attempt: Attempt = { abandoned: false, connection }
    this.#state = { name: 'connecting', attempt }
    const deadline = startDeadline(clock, connectTimeoutMs, () => {
      abandon(attempt)
      this.#failed(attempt, this.#unavailable(`no connection within ${connectTimeoutMs} ms`))
    })
    void this.#establish(attempt)
      .then(() => {
        if (!attempt.abandoned) this.#become(connection)
      })
      .catch((error: unknown) => {
        abandon(attempt)
        this.#failed(attempt, toOpeningError(error, this.#options.server))
      })
      .finally(() => deadline.cancel())
  }

  async #establish({ connection }: Attempt): Promise<void> {
    await connection.open()
    await this.#options.prepare?.(connection)
  }

  #become(connection: Connection): void {
    this.#state = { name: 'ready', connection }
    for (const call of this.#calls) this.#send(call, connection)
    this.#options.ready?.()
  }

  #failed(attempt: Attempt, error: PunctualError): void {
    if (this.#state.name !== 'connecting' || this.#state.attempt !== attempt) return
    this.#lastError = error
    this.#pause()
    // Waiting mends an outage, not a wrong password: whoever waits hears of it now.
    if (error instanceof UsageError) for (const call of this.#calls) this.#fail(call, error)
  }

  #lost(connection: Connection, error: unknown): void {
    const reason = toPunctualError(error, this.#options.server)
    if (this.#state.name === 'connecting' && this.#state.attempt.connection === connection) {
      const { attempt } = this.#state
      abandon(attempt)
      this.#failed(attempt, reason)
    }
    if (this.#state.name !== 'ready' || this.#state.connection !== connection) return
    this.#lastError = reason
    this.#pause()
    connection.destroy()
    for (const call of this.#calls) if (call.sentOn === connection) this.#fail(call, reason)
  }

  #pause(): void {
    const { clock, random, logger, server, name } = this.#options
    const longestMs = Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN * 2 ** Math.min(this.#failures, 10))
    const pauseMs = longestMs * (0.5 + random.next() / 2)
    if (this.#failures === 0) logger.warn(`${name}: ${this.#lastError?.message ?? `${server} is away`}`)
    this.#failures += 1
    this.#state = { name: 'pausing', timer: clock.schedule(pauseMs, () => this.#attempt()) }
  }

  #send(call: LinkCall, connection: Connection): void {
    call.sentOn = connection
    connection.send(call.command).then(
      (reply) => this.#answered(call, reply),
      (error: unknown) => this.#refused(call, connection, error),
    )
  }

  #answered(call: LinkCall, reply: unknown): void {
    if (this.#failures > 0)
      this.#options.logger.info?.(`${this.#options.name}: ${this.#options.server} is back`)
    this.#failures = 0
    this.#lastError = undefined
    if (this.#finish(call)) call.resolve(reply)
  }

  #refused(call: LinkCall, connection: Connection, error: unknown): void {
    const word = refusalWord(error)
    this.#fail(
      call,
      error instanceof Error && word === 'NOSCRIPT' ? error : toPunctualError(error, this.#options.server),
    )
    // No word: the connection broke. Demoted: after a failover the same address may lead to the new primary, and this
    // connection leads to the old one.
    if (word === '' || DEMOTED.has(word)) this.#lost(connection, error)
  }

  #expire(call: LinkCall, timeoutMs: number): void {
    const { sentOn } = call
    if (sentOn === undefined) {
      this.#fail(call, this.#inVain(`still not connected after ${timeoutMs} ms`))
      return
    }
    const error = this.#unavailable(`no answer within ${timeoutMs} ms`)
    this.#fail(call, error)
    this.#lost(sentOn, error)
  }

  #fail(call: LinkCall, error: unknown): void {
    if (this.#finish(call)) call.reject(error)
  }

  #finish(call: LinkCall): boolean {
    call.deadline.cancel()
    return this.#calls.delete(call)
  }

  #unavailable(what: string): UnavailableError {
    return new UnavailableError('STORE_UNAVAILABLE', `${this.#options.server}: ${what}.`)
  }

  /** For a caller who waited in vain: with the last thing that went wrong, which mostly is the reason. */
  #inVain(what: string): UnavailableError {
    const { server } = this.#options
    const before = this.#lastError
    const reason = before === undefined ? '' : ` Before that: ${before.message}`
    return new UnavailableError('STORE_UNAVAILABLE', `${server}: ${what}.${reason}`, { cause: before })
  }

  #closedError(): UnavailableError {
    return new UnavailableError(
      'STORE_CLOSED',
      `the store on ${this.#options.server} is closed; open a new queue.`,
    )
  }
}

function abandon(attempt: Attempt): void {
  attempt.abandoned = true
  attempt.connection.destroy()
}
