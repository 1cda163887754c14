/**
 * One side of the bridge's contact with the broker: connects, sets up its role, waits for the loss, begins again.
 *
 *   dial ──► open role ──► up ──► lost ──► pause ──► dial …
 *     └── failed ── pause ┘
 *
 * The pause grows from 100 ms to 5 s and has chance in it, so that a hundred bridges do not come back at once. A
 * refusal (credentials, rights, a queue of another kind) rejects the first start; later it is told, and tried again,
 * because an operator may be changing something right now.
 */
import type { ChannelModel } from 'amqplib'
import { sleep, type Clock } from '../../../clock.ts'
import { exponentialMs } from '../../../core/machines/backoff.ts'
import type { PunctualError } from '../../../core/errors.ts'
import type { Random } from '../../../random.ts'
import type { BridgeSide, Tell } from '../events.ts'
import { cut, hangUp } from './dial.ts'
import { brokerError, isRefusal } from './failure.ts'

export interface LinkRole {
  /** Declares and consumes. `fail` gives the connection up: the link makes a new one. */
  open(connection: ChannelModel, fail: (error: unknown) => void): Promise<void>
  /** The connection is gone, with all that was open on it. */
  lost(): void
}

export type LinkParts = {
  readonly side: BridgeSide
  readonly urlShown: string
  readonly dial: (signal: AbortSignal) => Promise<ChannelModel>
  readonly role: LinkRole
  readonly tell: Tell
  readonly clock: Clock
  readonly random: Random
}

const PAUSE = { baseMs: 100, factor: 2, capMs: 5_000, jitter: 0.5 } as const

export class BrokerLink {
  readonly #parts: LinkParts
  readonly #end = new AbortController()
  #loop: Promise<void> | undefined
  #connection: ChannelModel | undefined

  constructor(parts: LinkParts) {
    this.#parts = parts
  }

  /** Resolves when it is up for the first time; rejects when the broker refuses. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#loop = this.#run(resolve, reject)
    })
  }

  get connection(): ChannelModel | undefined {
    return this.#connection
  }

  /** Never rejects. */
  async stop(): Promise<void> {
    this.#end.abort()
    await this.#loop
  }

  async #run(started: () => void, refused: (error: Error) => void): Promise<void> {
    const { tell, side, clock, random } = this.#parts
    const { signal } = this.#end
    let failures = 0
    let wasUp = false
    while (!signal.aborted) {
      const error = await this.#live(() => {
        failures = 0
        wasUp = true
        tell({ kind: 'connected', side })
        started()
      })
      if (error === undefined) break
      if (!wasUp && isRefusal(error)) return refused(error)
      tell({ kind: 'disconnected', side, error })
      failures += 1
      await sleep(clock, exponentialMs(PAUSE, failures, random.next()), signal)
    }
    started() // Stopped before it was ever up: those who wait for the start go on to the stop.
  }

  /** One connection from beginning to end; why it ended, or undefined when we were told to stop. */
  async #live(up: () => void): Promise<PunctualError | undefined> {
    const { dial, role, urlShown, clock } = this.#parts
    const { signal } = this.#end
    let connection: ChannelModel | undefined
    let doing = 'connecting'
    try {
      connection = await dial(signal)
      this.#connection = connection
      const ended = whenEnded(connection, signal)
      doing = 'declaring what the bridge needs'
      await Promise.race([role.open(connection, ended.fail), ended.promise])
      if (signal.aborted) return undefined
      doing = 'connected'
      up()
      await ended.promise
      return signal.aborted ? undefined : brokerError(new Error('the connection ended'), urlShown, doing)
    } catch (error) {
      return signal.aborted ? undefined : brokerError(error, urlShown, doing)
    } finally {
      this.#connection = undefined
      role.lost()
      if (connection !== undefined) await hangUp(connection, clock)
    }
  }
}

type ConnectionEnd = { readonly promise: Promise<void>; readonly fail: (error: unknown) => void }

/** Resolves on a stop, rejects on a loss. */
function whenEnded(connection: ChannelModel, signal: AbortSignal): ConnectionEnd {
  const failed = new AbortController()
  const over = new AbortController()
  const promise = new Promise<void>((resolve, reject) => {
    const lose = (error: unknown): void => reject(error instanceof Error ? error : new Error(String(error)))
    failed.signal.addEventListener('abort', () => lose(failed.signal.reason), { once: true })
    connection.on('close', (error?: Error) => lose(error ?? 'the broker closed the connection'))
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true, signal: over.signal })
  })
  // While the role opens, its own error may come first, so that this one is not heard.
  void Promise.allSettled([promise]).then(() => over.abort())
  return {
    promise,
    fail: (error) => {
      failed.abort(error)
      cut(connection)
    },
  }
}
