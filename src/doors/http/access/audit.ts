/** Who did what: one line in the log for each action of an operator, and the last 1,000 for people who look. */
import type { Clock } from '../../../clock.ts'
import type { Logger } from '../../../core/log.ts'
import { printable } from '../../shared/printable.ts'
import type { Caller } from './caller.ts'

export type AuditEntry = {
  /** Epoch milliseconds. */
  readonly at: number
  /** The name of the token. */
  readonly who: string
  readonly action: string
  readonly queue: string
  /** An id, a topic, a filter: never a payload. */
  readonly about: string
  readonly result: string
  readonly count?: number
}

const KEPT = 1_000
const ABOUT_MAX = 300

export class Audit {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #entries: AuditEntry[] = []
  readonly #listeners = new Set<(entry: AuditEntry) => void>()

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock
    this.#logger = logger
  }

  tell({ name }: Caller, done: Omit<AuditEntry, 'at' | 'who'>): void {
    const about = printable(done.about).slice(0, ABOUT_MAX)
    const entry: AuditEntry = { at: Math.floor(this.#clock.now()), who: name, ...done, about }
    this.#entries.push(entry)
    if (this.#entries.length > KEPT) this.#entries.shift()
    this.#logger.info?.(`audit ${JSON.stringify(entry)}`)
    for (const listener of this.#listeners) listener(entry)
  }

  /** Newest first. */
  last(count: number): readonly AuditEntry[] {
    return this.#entries.slice(-count).toReversed()
  }

  listen(listener: (entry: AuditEntry) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
