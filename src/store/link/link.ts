/**
 * A connection to a server that is there whenever it can be.
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
 *
 * A server may have too few connections for all that a worker would like. What may go over another link of the same store
 * names it as its detour: then one connection is enough to work, and the others only make it quicker.
 *
 * A link keeps the process alive while it connects and while calls wait, by their deadlines; not while it is idle, so that
 * a program that only produces ends by itself. Workers have timers of their own.
 */
import type { Clock, Timer } from '../../clock.ts'
import { UnavailableError, UsageError, type PunctualError } from '../../core/errors.ts'
import type { Logger } from '../../core/log.ts'
import type { Random } from '../../random.ts'
import { startDeadline } from './deadline.ts'

const PAUSE_MS_MIN = 50
const PAUSE_MS_MAX = 2000
/** Where another link does the work meanwhile: a server without a connection to spare is not asked for one all the time. */
const PAUSE_MS_MAX_WITH_DETOUR = 30_000
export const CALLS_MAX = 10_000

/** What a link needs of a connection. One that is lost stays lost. */
export interface LinkConnection<Command> {
  /** Connects and authenticates. */
  open(): Promise<void>
  send(command: Command): Promise<unknown>
  /** Ends it at once, whatever its state; what is under way rejects. */
  destroy(): void
  /** From now on it does not keep the process alive. */
  unref(): void
}

/** What the failures of an engine's server mean. */
export type LinkFailures = {
  /** Any failure of a call or a connection, as an error of ours. */
  readonly toError: (error: unknown, server: string) => PunctualError
  /** The same while a connection is being opened. */
  readonly toOpeningError: (error: unknown, server: string) => PunctualError
  /** Answers of the server that its engine deals with itself: the call rejects with them as they are. */
  readonly isForEngine: (error: unknown) => boolean
  /** After such a failure of a call nothing more can be had from this connection. */
  readonly endsConnection: (error: unknown) => boolean
}

export type StoreLinkOptions<Command, Conn extends LinkConnection<Command>> = {
  /** As the server's list of clients shows it. */
  readonly name: string
  /** As messages name it. */
  readonly server: string
  /** `lost` is called at most once, when an opened connection broke by itself. */
  readonly connect: (name: string, lost: (error: unknown) => void) => Conn
  readonly failures: LinkFailures
  readonly connectTimeoutMs: number
  readonly callTimeoutMs: number
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** What each new connection needs before it counts as ready. */
  readonly prepare?: (connection: Conn) => Promise<void>
  readonly ready?: () => void
  /** After each connection that was lost or could not be made. */
  readonly lost?: () => void
  /** Another link to the same server, which takes the calls of this one while this one is away. */
  readonly detour?: StoreLink<Command, Conn>
  /** What the caller hears when a call that was sent got no answer in time; STORE_UNAVAILABLE where it is not given. */
  readonly expired?: (server: string, timeoutMs: number) => UnavailableError
}

type State<Conn> =
  | { readonly name: 'resting' }
  | { readonly name: 'connecting'; readonly attempt: Attempt<Conn> }
  | { readonly name: 'ready'; readonly connection: Conn }
  | { readonly name: 'pausing'; readonly timer: Timer }
  | { readonly name: 'closed' }

/** A connection in the making: given up by the deadline or by `close`, whichever is first. */
type Attempt<Conn> = { abandoned: boolean; readonly connection: Conn }

type LinkCall<Command, Conn> = {
  readonly command: Command
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: unknown) => void
  readonly deadline: Timer
  /** Monotonic. */
  readonly endsAt: number
  sentOn?: Conn
  /** Monotonic. */
  sentAt?: number
}

export class StoreLink<Command, Conn extends LinkConnection<Command>> {
  readonly #options: StoreLinkOptions<Command, Conn>
  readonly #calls = new Set<LinkCall<Command, Conn>>()
  #state: State<Conn> = { name: 'resting' }
  #failures = 0
  #lastError: PunctualError | undefined

  constructor(options: StoreLinkOptions<Command, Conn>) {
    this.#options = options
  }

  /** `away`: the last attempt to connect failed, or the connection was lost. */
  get standing(): 'ready' | 'connecting' | 'away' {
    if (this.#state.name === 'ready') return 'ready'
    return this.#failures > 0 ? 'away' : 'connecting'
  }

  /** Since when, monotonic, the oldest call waits for its answer; Infinity for none. */
  get silentSince(): number {
    const [oldest] = this.#calls
    return oldest?.sentAt ?? Infinity
  }

  start(): void {
    if (this.#state.name === 'resting') this.#attempt()
  }

  /** Resolves to the reply; rejects with an error of ours, within `timeoutMs`. */
  call(command: Command, timeoutMs = this.#options.callTimeoutMs): Promise<unknown> {
    if (this.#state.name === 'closed') return Promise.reject(this.#closedError())
    if (this.#calls.size >= CALLS_MAX)
      return Promise.reject(this.#unavailable(`${CALLS_MAX} calls wait already`))
    this.start()
    const { detour } = this.#options
    if (detour !== undefined && this.standing === 'away') return detour.call(command, timeoutMs)
    return new Promise((resolve, reject) => {
      const { clock } = this.#options
      const deadline = startDeadline(clock, timeoutMs, () => this.#expire(call, timeoutMs))
      const endsAt = clock.monotonic() + timeoutMs
      const call: LinkCall<Command, Conn> = { command, resolve, reject, deadline, endsAt }
      this.#calls.add(call)
      if (this.#state.name === 'ready') this.#send(call, this.#state.connection)
    })
  }

  /** Ends the connection without waiting for anything. `reason`: why it is given up, where the store goes on without it. */
  close(reason?: string): void {
    const error = reason === undefined ? this.#closedError() : this.#unavailable(reason)
    const state = this.#state
    this.#state = { name: 'closed' }
    if (state.name === 'ready') state.connection.destroy()
    if (state.name === 'pausing') state.timer.cancel()
    if (state.name === 'connecting') abandon(state.attempt)
    for (const call of this.#calls) this.#fail(call, error)
  }

  #attempt(): void {
    const { clock, connect, connectTimeoutMs, name } = this.#options
    const connection: Conn = connect(name, (error) => this.#lost(connection, error))
    const attempt: Attempt<Conn> = { abandoned: false, connection }
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
        this.#failed(attempt, this.#options.failures.toOpeningError(error, this.#options.server))
      })
      .finally(() => deadline.cancel())
  }

  async #establish({ connection }: Attempt<Conn>): Promise<void> {
    await connection.open()
    await this.#options.prepare?.(connection)
  }

  #become(connection: Conn): void {
    this.#state = { name: 'ready', connection }
    connection.unref()
    for (const call of this.#calls) this.#send(call, connection)
    this.#options.ready?.()
  }

  #failed(attempt: Attempt<Conn>, error: PunctualError): void {
    if (this.#state.name !== 'connecting' || this.#state.attempt !== attempt) return
    this.#lastError = error
    this.#pause()
    // An outage passes by waiting, a wrong password does not: callers that wait hear of it now.
    if (error instanceof UsageError) for (const call of this.#calls) this.#fail(call, error)
    this.#takeDetour()
  }

  /** What waits here goes another way, with what is left of its time; none of it was sent. */
  #takeDetour(): void {
    const { detour } = this.#options
    if (detour === undefined) return
    const now = this.#options.clock.monotonic()
    for (const call of this.#calls) {
      this.#finish(call)
      detour.call(call.command, Math.max(1, call.endsAt - now)).then(call.resolve, call.reject)
    }
  }

  #lost(connection: Conn, error: unknown): void {
    const reason = this.#options.failures.toError(error, this.#options.server)
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
    const { clock, detour, random, logger, server, name } = this.#options
    const cap = detour === undefined ? PAUSE_MS_MAX : PAUSE_MS_MAX_WITH_DETOUR
    const longestMs = Math.min(cap, PAUSE_MS_MIN * 2 ** Math.min(this.#failures, 10))
    const pauseMs = longestMs * (0.5 + random.next() / 2)
    if (this.#failures === 0)
      logger.warn(`${shortName(name)}: ${this.#lastError?.message ?? `${server} is away`}`)
    this.#failures += 1
    const timer = clock.schedule(pauseMs, () => this.#attempt())
    timer.unref?.()
    this.#state = { name: 'pausing', timer }
    this.#options.lost?.()
  }

  #send(call: LinkCall<Command, Conn>, connection: Conn): void {
    call.sentOn = connection
    call.sentAt = this.#options.clock.monotonic()
    connection.send(call.command).then(
      (reply) => this.#answered(call, reply),
      (error: unknown) => this.#refused(call, connection, error),
    )
  }

  #answered(call: LinkCall<Command, Conn>, reply: unknown): void {
    // As loud as what told that it is away: who read that wants to know.
    if (this.#failures > 0)
      this.#options.logger.warn(`${shortName(this.#options.name)}: ${this.#options.server} is back`)
    this.#failures = 0
    this.#lastError = undefined
    if (this.#finish(call)) call.resolve(reply)
  }

  #refused(call: LinkCall<Command, Conn>, connection: Conn, error: unknown): void {
    const { failures, server } = this.#options
    this.#fail(call, failures.isForEngine(error) ? error : failures.toError(error, server))
    if (failures.endsConnection(error)) this.#lost(connection, error)
  }

  #expire(call: LinkCall<Command, Conn>, timeoutMs: number): void {
    const { sentOn } = call
    if (sentOn === undefined) {
      this.#fail(call, this.#inVain(`still not connected after ${timeoutMs} ms`))
      return
    }
    const { expired, server } = this.#options
    const error = expired?.(server, timeoutMs) ?? this.#unavailable(`no answer within ${timeoutMs} ms`)
    this.#fail(call, error)
    this.#lost(sentOn, error)
  }

  #fail(call: LinkCall<Command, Conn>, error: unknown): void {
    if (this.#finish(call)) call.reject(error)
  }

  #finish(call: LinkCall<Command, Conn>): boolean {
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

/** Without the word that begins every line of the log anyway. */
function shortName(name: string): string {
  return name.replace(/^punctual:/, '')
}

function abandon(attempt: Attempt<{ destroy(): void }>): void {
  attempt.abandoned = true
  attempt.connection.destroy()
}
