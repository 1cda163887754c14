/**
 * The thread's side: takes the calls that have arrived, answers those that only look, and runs the others together in
 * one transaction.
 *
 *   calls        a  b c d        e f          (b, c and d arrive while a commits)
 *   commits     [a────]  [b c d────]  [e f────]
 *
 * The write lock is shared with other processes and never waited for inside a native call. If it is taken, the thread
 * naps for 0.1 to 0.2 ms and tries again; in between it takes new calls, answers those that only look, and rejects those
 * whose time is up. A group is formed when the lock is ours, so calls that arrive meanwhile are still in it.
 *
 * Courtesy: processes do not queue for the lock, so that a process which commits again at once could shut out the others. Who
 * found the lock taken within the last 50 ms lets 1 ms pass between two of its own commits; its calls gather meanwhile.
 *
 * If a group fails, its calls run again one by one, so that only the guilty one fails: a call is atomic although it
 * shares its commit.
 */
import { receiveMessageOnPort, type MessagePort } from 'node:worker_threads'
import { systemClock } from '../../clock.ts'
import { UnavailableError } from '../../core/errors.ts'
import { systemRandom } from '../../random.ts'
import { takeApart } from './failure.ts'
import { END, type ThreadCall, type ThreadData, type ThreadReply, type Wake } from './protocol.ts'
import { enter, leave } from './standing.ts'

const GROUP_ENTRIES_MAX = 2000
const GROUP_BYTES_MAX = 16 * 1024 * 1024
const NAP_MS = 0.1
const COURTESY_MS = 1
const MET_OTHERS_MS = 50

/** What a look answers: a value, work in slices that others may come between, or that it takes a transaction. */
export type Look =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'slices'; readonly slices: Iterator<void, unknown> }
  | { readonly kind: 'write' }
  /** Another process is just bringing the store in order. */
  | { readonly kind: 'busy' }

export type Written =
  | { readonly kind: 'done'; readonly values: readonly unknown[]; readonly wakes: readonly Wake[] }
  /** Nothing happened, and it is worth trying the same again at once. */
  | { readonly kind: 'again' }

export interface HostedEngine {
  /** Opens what it works on; does nothing once that is open. False: the lock is taken. */
  open(): boolean
  look(call: ThreadCall): Look
  /** Takes the write lock. False: another process has it. */
  begin(): boolean
  /** Runs calls in the transaction that `begin` began, and ends it. Throws when nothing of it happened. */
  write(calls: readonly ThreadCall[]): Written
  close(): void
}

type WaitingCall = { readonly call: ThreadCall; readonly arrivedAt: number; isAlone: boolean }
type Slow = { readonly call: ThreadCall; readonly slices: Iterator<void, unknown> }

export class EngineHost {
  readonly #engine: HostedEngine
  readonly #port: MessagePort
  readonly #standing: Int32Array
  readonly #callMs: number
  readonly #nap = new Int32Array(new SharedArrayBuffer(4))
  #arrived: WaitingCall[] = []
  #writers: WaitingCall[] = []
  readonly #slow: Slow[] = []
  #replies: ThreadReply[] = []
  #wakes: readonly Wake[] = []
  #metOthersAt = -Infinity
  #committedAt = -Infinity
  #endCall: ThreadCall | undefined

  constructor(engine: HostedEngine, port: MessagePort, { standing, callMs }: ThreadData) {
    this.#engine = engine
    this.#port = port
    this.#standing = standing
    this.#callMs = callMs
  }

  listen(): void {
    this.#port.on('message', (calls: readonly ThreadCall[]) => this.#serve(calls))
    this.#port.postMessage({ replies: [], wakes: [] })
  }

  #serve(calls: readonly ThreadCall[]): void {
    this.#take(calls)
    while (this.#endCall === undefined && this.#hasWork()) {
      this.#guarded(() => this.#turn())
      this.#send()
      this.#pump()
    }
    if (this.#endCall !== undefined) this.#end(this.#endCall)
  }

  #hasWork(): boolean {
    return this.#arrived.length > 0 || this.#writers.length > 0 || this.#slow.length > 0
  }

  #turn(): void {
    if (!this.#open()) return this.#waitForOthers()
    for (const waiting of this.#arrived.splice(0)) this.#look(waiting)
    this.#slice()
    if (this.#arrived.length > 0) return this.#waitForOthers()
    if (this.#writers.length === 0) return
    const sinceCommitMs = systemClock.monotonic() - this.#committedAt
    const isContended = systemClock.monotonic() - this.#metOthersAt < MET_OTHERS_MS
    if (isContended && sinceCommitMs < COURTESY_MS) return this.#sleep(COURTESY_MS - sinceCommitMs)
    if (this.#begin()) this.#write(this.#nextGroup())
  }

  #open(): boolean {
    try {
      return this.#engine.open()
    } catch (error) {
      for (const { call } of [...this.#arrived.splice(0), ...this.#writers.splice(0)]) this.#fail(call, error)
      return true
    }
  }

  #look(waiting: WaitingCall): void {
    const { call } = waiting
    try {
      const look = this.#engine.look(call)
      if (look.kind === 'value') this.#replies.push([call.n, look.value])
      else if (look.kind === 'slices') this.#slow.push({ call, slices: look.slices })
      else if (look.kind === 'busy') this.#arrived.push(waiting)
      else this.#writers.push(waiting)
    } catch (error) {
      this.#fail(call, error)
    }
  }

  #slice(): void {
    const slow = this.#slow.shift()
    if (slow === undefined) return
    try {
      const { done, value } = slow.slices.next()
      if (done === true) this.#replies.push([slow.call.n, value])
      else this.#slow.push(slow)
    } catch (error) {
      this.#fail(slow.call, error)
    }
  }

  #begin(): boolean {
    try {
      if (this.#engine.begin()) return true
      this.#waitForOthers()
    } catch (error) {
      for (const { call } of this.#writers.splice(0)) this.#fail(call, error)
    }
    return false
  }

  #write(group: readonly WaitingCall[]): void {
    try {
      const written = this.#engine.write(group.map(({ call }) => call))
      if (written.kind === 'again') {
        this.#writers.unshift(...group)
        return
      }
      for (const [index, { call }] of group.entries()) this.#replies.push([call.n, written.values[index]])
      this.#wakes = written.wakes
    } catch (error) {
      if (group.length > 1) this.#writers.unshift(...group.map((waiting) => ({ ...waiting, isAlone: true })))
      else for (const { call } of group) this.#fail(call, error)
    }
    this.#committedAt = systemClock.monotonic()
  }

  #nextGroup(): WaitingCall[] {
    let size = 0
    let entries = 0
    let bytes = 0
    for (const { call, isAlone } of this.#writers) {
      entries += call.entries
      bytes += call.bytes
      if (size > 0 && (isAlone || entries > GROUP_ENTRIES_MAX || bytes > GROUP_BYTES_MAX)) break
      size += 1
      if (isAlone) break
    }
    return this.#writers.splice(0, size)
  }

  /** The lock is taken: those who have waited too long hear of it, the others wait on. */
  #waitForOthers(): void {
    const now = systemClock.monotonic()
    this.#metOthersAt = now
    const isOver = ({ arrivedAt }: WaitingCall): boolean => now - arrivedAt > this.#callMs
    for (const { call } of [...this.#arrived, ...this.#writers].filter(isOver)) {
      const message = `another process has kept the store locked for more than ${this.#callMs} ms.`
      this.#fail(call, new UnavailableError('STORE_UNAVAILABLE', message))
    }
    this.#arrived = this.#arrived.filter((waiting) => !isOver(waiting))
    this.#writers = this.#writers.filter((waiting) => !isOver(waiting))
    this.#send()
    this.#sleep(NAP_MS * (1 + systemRandom.next()))
  }

  #sleep(ms: number): void {
    leave(this.#standing)
    Atomics.wait(this.#nap, 0, 0, ms)
    enter(this.#standing)
  }

  #take(calls: readonly ThreadCall[]): void {
    const arrivedAt = systemClock.monotonic()
    for (const call of calls) {
      if (call.verb === END) this.#endCall = call
      else this.#arrived.push({ call, arrivedAt, isAlone: false })
    }
  }

  #pump(): void {
    for (
      let more = receiveMessageOnPort(this.#port);
      more !== undefined;
      more = receiveMessageOnPort(this.#port)
    ) {
      this.#take(more.message as readonly ThreadCall[])
    }
  }

  #send(): void {
    if (this.#replies.length === 0 && this.#wakes.length === 0) return
    this.#port.postMessage({ replies: this.#replies, wakes: this.#wakes })
    this.#replies = []
    this.#wakes = []
  }

  #end({ n }: ThreadCall): void {
    this.#guarded(() => this.#engine.close())
    this.#replies.push([n, undefined])
    this.#send()
    this.#port.close()
  }

  #guarded(act: () => void): void {
    enter(this.#standing)
    try {
      act()
    } finally {
      leave(this.#standing)
    }
  }

  #fail(call: ThreadCall, error: unknown): void {
    this.#replies.push([call.n, undefined, takeApart(error)])
  }
}
