/**
 * The caller's side of an engine that lives on a thread of its own, so that no handler can hold the engine's lock and
 * the engine never blocks the caller's event loop.
 *
 *   - Calls of one turn travel in one message. What is large waits here until the thread has answered what it has.
 *   - Each call has a deadline, after which it rejects although the thread is silent: it may still take effect.
 *   - The thread keeps the process alive only while calls are under way.
 *   - When the process exits, the thread is stopped between two native calls.
 *   - A thread that died is replaced at the next call; what was under way rejects.
 */
import type { Worker } from 'node:worker_threads'
import { systemClock, type Timer } from '../../clock.ts'
import { UnavailableError, type PunctualError } from '../../core/errors.ts'
import { putTogether } from './failure.ts'
import { END, type ThreadAnswers, type ThreadCall, type ThreadData, type Wake } from './protocol.ts'
import { newStanding, park } from './standing.ts'

const PARK_MS = 500
/** The thread says itself what a call waited for in vain; this side steps in only if the thread is silent. */
const GRACE_MS = 250
/** On a machine that has more to do than it can, starting a thread takes long; that is not the store's fault. */
const START_MS_MAX = 30_000
const WINDOW_BYTES = 32 * 1024 * 1024

export type EngineThreadOptions<T> = {
  readonly spawn: (data: ThreadData<T>) => Worker
  readonly options: T
  readonly callMs: number
  readonly explainDeath: (cause: Error) => PunctualError
  readonly onWakes: (wakes: readonly Wake[]) => void
}

export type CallRequest = Omit<ThreadCall, 'n'>

type PendingCall = {
  readonly holder: object
  readonly bytes: number
  readonly resolve: (value: never) => void
  readonly reject: (error: PunctualError) => void
  /** Undefined while it waits for the window. */
  sentAt: number | undefined
}

/** One listener for all threads of the process. */
const living = new Set<Int32Array>()
const parkAll = (): void => {
  for (const standing of living) park(standing, PARK_MS)
}

export class EngineThread<T> {
  readonly #options: EngineThreadOptions<T>
  readonly #calls = new Map<number, PendingCall>()
  readonly #idleListeners = new Set<() => void>()
  #outbox: ThreadCall[] = []
  #isFlushing = false
  #bytesUnderWay = 0
  #n = 0
  #heardAt = 0
  #timer: Timer | undefined
  #worker: Worker | undefined
  #standing = newStanding()
  #hasStarted = false

  constructor(options: EngineThreadOptions<T>) {
    this.#options = options
  }

  /** `holder`: whose call it is, so that a store that closes can give up its own. */
  call<R>(holder: object, { queue, verb, args, entries, bytes, now }: CallRequest): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      this.#n += 1
      const n = this.#n
      if (this.#calls.size === 0) this.#keepAlive()
      this.#calls.set(n, { holder, bytes, resolve, reject, sentAt: undefined })
      this.#outbox.push({ n, queue, verb, args, entries, bytes, now })
      if (this.#isFlushing) return
      this.#isFlushing = true
      queueMicrotask(() => this.#flush())
    })
  }

  /** Resolves when this holder has no calls under way. */
  async idle(holder: object): Promise<void> {
    const isBusy = (): boolean => [...this.#calls.values()].some((call) => call.holder === holder)
    while (isBusy()) await new Promise<void>((resolve) => this.#idleListeners.add(resolve))
  }

  /** Rejects what this holder has under way. The thread may still do it. */
  giveUp(holder: object, error: PunctualError): void {
    for (const [n, call] of this.#calls)
      if (call.holder === holder) this.#settle(n, (one) => one.reject(error))
    this.#outbox = this.#outbox.filter(({ n }) => this.#calls.has(n))
  }

  /** Ends the thread, which closes the engine; a thread that is stuck is left to the end of the process. */
  async end(ms: number): Promise<void> {
    const worker = this.#worker
    if (worker === undefined) return
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    worker.ref()
    worker.postMessage([{ n: 0, queue: '', verb: END, args: [], entries: 0, bytes: 0, now: undefined }])
    await endsWithin(ms, ended)
    worker.unref()
    this.#forget(worker)
  }

  #flush(): void {
    this.#isFlushing = false
    const now = systemClock.monotonic()
    let size = 0
    for (const { n, bytes } of this.#outbox) {
      if (this.#bytesUnderWay > 0 && this.#bytesUnderWay + bytes > WINDOW_BYTES) break
      size += 1
      const call = this.#calls.get(n)
      if (call === undefined) continue
      this.#bytesUnderWay += bytes
      call.sentAt = now
    }
    if (size === 0) return
    this.#alive().postMessage(this.#outbox.splice(0, size))
  }

  #alive(): Worker {
    if (this.#worker !== undefined) return this.#worker
    this.#standing = newStanding()
    this.#hasStarted = false
    const { callMs, options } = this.#options
    const worker = this.#options.spawn({ standing: this.#standing, callMs, options })
    if (living.size === 0) process.on('exit', parkAll)
    living.add(this.#standing)
    worker.on('message', (answers: ThreadAnswers) => this.#hear(answers))
    worker.on('error', (error) => this.#lose(worker, error))
    worker.on('exit', () => this.#lose(worker, new Error('it ended')))
    this.#worker = worker
    return worker
  }

  #hear({ replies, wakes }: ThreadAnswers): void {
    this.#heardAt = systemClock.monotonic()
    if (!this.#hasStarted) this.#begin()
    for (const [n, value, error] of replies) {
      this.#settle(n, (call) => {
        if (error === undefined) call.resolve(value as never)
        else call.reject(putTogether(error))
      })
    }
    if (this.#outbox.length > 0 && !this.#isFlushing) this.#flush()
    if (wakes.length > 0) this.#options.onWakes(wakes)
  }

  /** The deadlines of what was sent before count from here. */
  #begin(): void {
    this.#hasStarted = true
    for (const call of this.#calls.values()) if (call.sentAt !== undefined) call.sentAt = this.#heardAt
    if (this.#calls.size > 0) this.#watch(this.#limitMs())
  }

  #limitMs(): number {
    return this.#options.callMs + GRACE_MS + (this.#hasStarted ? 0 : START_MS_MAX)
  }

  #settle(n: number, settle: (call: PendingCall) => void): void {
    const call = this.#calls.get(n)
    if (call === undefined) return
    this.#calls.delete(n)
    if (call.sentAt !== undefined) this.#bytesUnderWay -= call.bytes
    settle(call)
    if (this.#calls.size === 0) this.#letGo()
    for (const listener of this.#idleListeners) listener()
    this.#idleListeners.clear()
  }

  #keepAlive(): void {
    this.#heardAt = systemClock.monotonic()
    this.#alive().ref()
    this.#watch(this.#limitMs())
  }

  #letGo(): void {
    this.#worker?.unref()
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** One timer for all calls: it looks at the oldest, and is set again for what that one has left. */
  #watch(ms: number): void {
    this.#timer?.cancel()
    this.#timer = systemClock.schedule(ms, () => {
      const limitMs = this.#limitMs()
      const now = systemClock.monotonic()
      for (const [n, { sentAt = this.#heardAt }] of this.#calls) {
        if (now - sentAt < limitMs) return this.#watch(sentAt + limitMs - now)
        this.#settle(n, ({ reject }) => reject(silentError(this.#options.callMs)))
      }
      this.#outbox = this.#outbox.filter(({ n }) => this.#calls.has(n))
    })
  }

  #lose(worker: Worker, cause: Error): void {
    if (!this.#forget(worker)) return
    const error = this.#options.explainDeath(cause)
    for (const n of this.#calls.keys()) this.#settle(n, ({ reject }) => reject(error))
    this.#outbox = []
    this.#bytesUnderWay = 0
  }

  #forget(worker: Worker): boolean {
    if (this.#worker !== worker) return false
    this.#worker = undefined
    living.delete(this.#standing)
    if (living.size === 0) process.off('exit', parkAll)
    return true
  }
}

function silentError(callMs: number): UnavailableError {
  return new UnavailableError('STORE_UNAVAILABLE', `the store did not answer within ${callMs} ms.`)
}

/**
 * True once `work` is settled, false when it takes longer than `ms`. In real time, whatever clock the store was
 * given: locks and disks know no other.
 */
export function endsWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = systemClock.schedule(ms, () => resolve(false))
    const end = (): void => {
      timer.cancel()
      resolve(true)
    }
    work.then(end, end)
  })
}
