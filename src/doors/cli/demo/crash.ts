/**
 * A worker that is killed in the middle of its work, and one that takes over.
 *
 *   first ──some have arrived, and it has messages in its hands──► SIGKILL ──a moment──► second
 */
import { sleep, type Clock } from '../../../clock.ts'
import type { Punctual } from '../../../index.ts'
import { plural } from '../terminal/format.ts'
import type { Tally } from './tally.ts'
import { DEMO_SETTINGS, workInChild, type ChildWorker, type Report } from './worker.ts'

/** The share that must have arrived before the kill, and the one after which it waits for nothing more. */
const KILL_AFTER_SHARE = 0.35
const KILL_AT_LATEST = 0.55
const HANDS_WANTED = 3
const PAUSE_MS = 800

export type CrashOptions = {
  readonly queue: Punctual
  readonly store: string
  readonly queueName: string
  readonly clock: Clock
  readonly tally: Tally
  readonly report: (report: Report) => void
  readonly say: (note: string) => void
  readonly signal: AbortSignal
}

export class CrashingCrew {
  readonly #options: CrashOptions
  readonly #inHands = new Map<string, Report>()
  #worker: ChildWorker | undefined
  #phase: 'first' | 'killing' | 'second' = 'first'
  #takingOver: Promise<void> | undefined
  readonly #cutOff = new Set<string>()

  constructor(options: CrashOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { store, queueName, say } = this.#options
    this.#worker = await workInChild(store, queueName, (report) => this.#hear(report))
    say(`worker ${this.#worker.pid} started`)
  }

  async stop(): Promise<void> {
    await this.#takingOver
    await this.#worker?.end('SIGTERM')
  }

  #hear(report: Report): void {
    if (report.kind === 'started') this.#inHands.set(report.id, report)
    else this.#inHands.delete(report.id)
    this.#options.report(report)
    if (report.kind === 'arrived') this.#recover(report.id)
    if (this.#phase === 'first' && report.kind === 'started' && this.#isTime()) {
      this.#phase = 'killing'
      this.#takingOver = this.#killAndReplace()
    }
  }

  /** Asked when a message was just begun, so that at least that one is cut off; a few more are wanted, but not for long. */
  #isTime(): boolean {
    const { tally } = this.#options
    const share = tally.arrived / tally.total
    return share >= KILL_AT_LATEST || (share >= KILL_AFTER_SHARE && this.#inHands.size >= HANDS_WANTED)
  }

  async #killAndReplace(): Promise<void> {
    const { say, clock, signal } = this.#options
    const pid = this.#worker?.pid ?? 0
    await this.#worker?.end('SIGKILL')
    await this.#reconcile()
    const hands = `${plural(this.#cutOff.size, 'message')} in its hands`
    say(
      `worker ${pid} killed with SIGKILL, ${hands}; the demo's lease is ${DEMO_SETTINGS.lease}, the default is 15s`,
    )
    await sleep(clock, PAUSE_MS, signal)
    if (signal.aborted) return
    this.#phase = 'second'
    await this.start()
  }

  /**
   * Its last words may not have reached us. What the store no longer has was completed before the kill; what it
   * still has was cut off.
   */
  async #reconcile(): Promise<void> {
    const { queue, report } = this.#options
    for (const [id, started] of this.#inHands) {
      if ((await queue.get(id)) === undefined) report({ ...started, kind: 'arrived' })
      else this.#cutOff.add(id)
    }
    this.#inHands.clear()
  }

  #recover(id: string): void {
    if (!this.#cutOff.delete(id) || this.#cutOff.size > 0) return
    this.#options.say('all of them were taken over and completed')
  }
}
