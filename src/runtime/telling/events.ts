/** What happened, told to listeners. One that throws does no harm, and is reported. */
import { isControl } from '../../core/control.ts'
import { UsageError, describe } from '../../core/errors.ts'
import { suggestion } from '../../core/input/checks.ts'
import type { Logger } from '../../core/log.ts'
import type { AboutMessage } from './about.ts'
import type { QueueMeter } from './meter.ts'

export type QueueEvents = {
  /** Done, and the store knows it. */
  completed: AboutMessage & { readonly latenessMs: number; readonly durationMs: number }
  /** An attempt failed; `retrying` or `dead` follows once the store knows what is next. */
  failed: AboutMessage & { readonly error: unknown }
  retrying: AboutMessage & { readonly delayMs: number; readonly error: string }
  /** The handler threw `Snooze`: it is due again then. */
  snoozed: AboutMessage & { readonly delayMs: number }
  /** It came due outside its window, and was moved to its next opening: `until`, in epoch milliseconds. */
  postponed: AboutMessage & { readonly until: number }
  /** Not started within its ttl, and `ifExpired` is `skip`: completed without having run. */
  skipped: AboutMessage & { readonly latenessMs: number }
  dead: AboutMessage & { readonly reason: string; readonly error: string }
  /** It was taken back while it ran, by `cancel(id, { running: true })`. */
  cancelled: AboutMessage
  /** Started later than `lateAfter` allows. */
  late: AboutMessage & { readonly latenessMs: number }
  /**
   * The lease went to somebody else, or may have. `maybeSettled`: an answer of the store was lost on the way, so
   * this may also mean that the message was settled as it should.
   */
  lost: AboutMessage & { readonly maybeSettled: boolean }
  /**
   * A topic was paused, by whichever process, or is found paused at the start; without a topic, the whole queue. `until`: epoch
   * milliseconds, for a pause that ends by itself. Heard by queues that were started.
   */
  paused: { readonly topic?: string; readonly until?: number }
  /** A pause is over: somebody resumed the topic, or its time came. */
  resumed: { readonly topic?: string }
  /** Something in the background failed; punctual goes on by itself. */
  error: Error
}

export type EventName = keyof QueueEvents
const EVENT_NAMES: Readonly<Record<EventName, true>> = {
  completed: true,
  failed: true,
  retrying: true,
  snoozed: true,
  postponed: true,
  skipped: true,
  dead: true,
  cancelled: true,
  late: true,
  lost: true,
  paused: true,
  resumed: true,
  error: true,
}

export type Listener<K extends EventName> = (event: QueueEvents[K]) => void

export class Events {
  readonly #listeners = new Map<EventName, Set<(event: never) => void>>()
  readonly #logger: Logger
  readonly #meter: QueueMeter

  constructor(logger: Logger, meter: QueueMeter) {
    this.#logger = logger
    this.#meter = meter
  }

  on<K extends EventName>(name: K, listener: Listener<K>): void {
    checkListener(name, listener)
    const listeners = this.#listeners.get(name) ?? new Set()
    listeners.add(listener)
    this.#listeners.set(name, listeners)
  }

  off<K extends EventName>(name: K, listener: Listener<K>): void {
    const listeners = this.#listeners.get(name)
    listeners?.delete(listener)
    if (listeners?.size === 0) this.#listeners.delete(name)
  }

  /** Lets hot paths skip making an event that has no listener. */
  hears(name: EventName): boolean {
    return this.#listeners.has(name)
  }

  /** It happened, is counted, and has no listener. */
  unheard(name: EventName): void {
    this.#meter.happened(name)
  }

  emit<K extends EventName>(name: K, event: QueueEvents[K]): void {
    if (isOurs(event)) return
    this.#meter.happened(name)
    const listeners = this.#listeners.get(name) as Set<Listener<K>> | undefined
    if (listeners === undefined) return
    for (const listener of listeners) {
      try {
        listener(event)
      } catch (error) {
        this.#logger.error(`a listener of "${name}" threw: ${String(error)}`)
      }
    }
  }

  /** Background trouble: to the listeners of `error`, or to the log if there are none. */
  report(what: string, error: unknown): void {
    const trouble = error instanceof Error ? error : new Error(String(error))
    if (!this.hears('error')) this.#logger.error(`${what}: ${trouble.message}`)
    this.emit('error', trouble)
  }
}

/** Without types a misspelt event would never be heard of. */
function checkListener(name: unknown, listener: unknown): void {
  if (typeof name !== 'string' || !Object.hasOwn(EVENT_NAMES, name)) {
    const names = Object.keys(EVENT_NAMES)
    const hint = typeof name === 'string' ? suggestion(name, names) : ''
    throw new UsageError(
      'OPTION_INVALID',
      `there is no event ${describe(name)}${hint}; there are: ${names.join(', ')}.`,
      { value: name },
    )
  }
  if (typeof listener !== 'function')
    throw new UsageError('OPTION_INVALID', `the listener is ${describe(listener)}; give a function.`, {
      value: listener,
    })
}

/** Nothing is told of messages of our own. */
function isOurs(event: QueueEvents[EventName]): boolean {
  return 'topic' in event && isControl(event.topic)
}
