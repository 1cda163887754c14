/**
 * Failures in the log, so that an operator hears of them without listening to events: the first dead letter of a topic and minute
 * in full, then how many more there were; and one line per failing topic and minute for attempts that are retried.
 */
import type { Clock, Timer } from '../../clock.ts'
import { formatDuration } from '../../core/input/duration.ts'
import type { Logger } from '../../core/log.ts'

const MINUTE_MS = 60_000
/** Of so many topics within one minute; what others do is in the events and the dead letters. */
const TOPICS_MAX = 100

export type Failed = {
  readonly id: string
  readonly topic: string
  readonly attempt: number
  readonly error: string
}

export class Notices {
  readonly #clock: Clock
  readonly #logger: Logger
  /** By topic: how many after the first, within this minute. */
  readonly #dead = new Map<string, number>()
  readonly #retried = new Set<string>()
  #timer: Timer | undefined
  #isEnded = false

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock
    this.#logger = logger
  }

  dead({ id, topic, attempt, error }: Failed, reason: string): void {
    const more = this.#dead.get(topic)
    if (more === undefined && this.#dead.size >= TOPICS_MAX) return
    this.#dead.set(topic, more === undefined ? 0 : more + 1)
    if (more === undefined)
      this.#logger.error(`dead letter: ${topic} ${id}, attempt ${attempt}, ${about(reason, error)}`)
    this.#begin()
  }

  retried({ id, topic, attempt, error }: Failed, delayMs: number): void {
    if (this.#retried.has(topic) || this.#retried.size >= TOPICS_MAX) return
    this.#retried.add(topic)
    const again = delayMs === 0 ? 'at once' : `in ${formatDuration(delayMs)}`
    this.#logger.warn(`${topic} ${id} failed, attempt ${attempt}, again ${again}: ${firstLine(error)}`)
    this.#begin()
  }

  /** Ends the minute: says how many more there were. */
  flush(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    for (const [topic, more] of this.#dead)
      if (more > 0) this.#logger.error(`${more} more dead ${more === 1 ? 'letter' : 'letters'}: ${topic}`)
    this.#dead.clear()
    this.#retried.clear()
  }

  /** Nothing is counted after this. */
  end(): void {
    this.flush()
    this.#isEnded = true
  }

  #begin(): void {
    if (this.#isEnded) return
    this.#timer ??= this.#clock.schedule(MINUTE_MS, () => this.flush())
  }
}

function about(reason: string, error: string): string {
  const line = firstLine(error)
  return line === '' || line.includes(reason) ? line || reason : `${firstLine(reason)}: ${line}`
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}
