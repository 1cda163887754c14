/**
 * Drives the machine of `core/machines/sleep`: owns its one timer and its one read. Events only feed the machine; they do
 * no work themselves.
 */
import type { Clock, Timer } from '../../clock.ts'
import {
  IDLE,
  step,
  type NextAnswer,
  type SleepCommand,
  type SleepEvent,
  type SleepLimits,
  type SleepState,
} from '../../core/machines/sleep.ts'
import { assertNever, InvariantError } from '../../core/errors.ts'
import type { Random } from '../../random.ts'

export type ClaimReading = {
  readonly next: NextAnswer
  /** How many messages came. */
  readonly got: number
  /** Whether there is room for more. */
  readonly room: boolean
  /** The longest wait until the next read, where the store says so. */
  readonly lookMs?: number
}

export type SchedulerParts = {
  readonly clock: Clock
  readonly random: Random
  readonly limits: SleepLimits
  readonly onFailure: (error: unknown) => void
}

export class Scheduler {
  readonly #parts: SchedulerParts
  #state: SleepState = IDLE
  #ask: () => Promise<ClaimReading> = notStarted
  #timer: Timer | undefined
  #underWay: Promise<void> | undefined

  constructor(parts: SchedulerParts) {
    this.#parts = parts
  }

  /** `read` asks the store, and is called whenever it is time. */
  start(read: () => Promise<ClaimReading>): void {
    this.#ask = read
    this.#feed({ kind: 'start' })
  }

  /** Something may be due sooner than the last answer said. */
  wake(): void {
    this.#feed({ kind: 'wake' })
  }

  /** The store said elsewhere when to read next. */
  told(ms: number): void {
    this.#feed({ kind: 'told', ms })
  }

  /** What was held back for want of room can be asked for. */
  room(): void {
    this.#feed({ kind: 'room' })
  }

  /** No read begins after this; resolves when the one under way has ended. */
  async stop(): Promise<void> {
    this.#feed({ kind: 'stop' })
    await this.#underWay
  }

  #feed(event: SleepEvent): void {
    const [state, command] = step(this.#state, event, this.#parts.limits)
    this.#state = state
    this.#perform(command)
  }

  #perform(command: SleepCommand): void {
    switch (command.kind) {
      case 'none':
        return
      case 'read':
        this.#clearTimer()
        this.#underWay = this.#read()
        return
      case 'wait':
        this.#clearTimer()
        this.#timer = this.#parts.clock.schedule(command.ms, () => this.#feed({ kind: 'timer' }))
        return
      case 'halt':
        this.#clearTimer()
        return
      default:
        assertNever(command)
    }
  }

  /** Never rejects: whatever happens becomes an event, so that the machine always goes on. */
  async #read(): Promise<void> {
    let event: SleepEvent
    try {
      event = { kind: 'answer', ...(await this.#ask()) }
    } catch (error) {
      event = { kind: 'failure', chance: this.#parts.random.next() }
      this.#parts.onFailure(error)
    }
    this.#feed(event)
  }

  #clearTimer(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}

function notStarted(): Promise<never> {
  return Promise.reject(new InvariantError('a scheduler read before it was started'))
}
