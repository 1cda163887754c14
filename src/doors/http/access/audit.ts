/** Who did what: one line in the log for each action of an operator, and the last 1,000 for people who look. */
import type { Clock } from '../../../clock.ts'
import type { Logger } from '../../../core/log.ts'
import { printable } from '../../shared/printable.ts'
import { mayUseQueue, mayUseTopic, type Caller } from './caller.ts'

export type AuditEntry = {
  /** Epoch milliseconds. */
  readonly at: number
  /** The name of the token. */
  readonly who: string
  readonly action: string
  readonly queue: string
  /** Where it was about one topic, and that was known. */
  readonly topic?: string
  /** An id, a topic, a filter: never a payload. */
  readonly about: string
  readonly result: string
  readonly count?: number
}

type DoneAction = Omit<AuditEntry, 'at' | 'who' | 'topic'> & { readonly topic: string | undefined }

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

  tell({ name }: Caller, { topic, ...done }: DoneAction): void {
    const about = printable(done.about).slice(0, ABOUT_MAX)
    const of = topic === undefined ? {} : { topic }
    const entry: AuditEntry = { at: Math.floor(this.#clock.now()), who: name, ...done, ...of, about }
    this.#entries.push(entry)
    if (this.#entries.length > KEPT) this.#entries.shift()
    this.#logger.info?.(`audit ${JSON.stringify(entry)}`)
    for (const listener of this.#listeners) listener(entry)
  }

  /** Newest first: of the queues and topics that the caller may see. What is about no known topic is not for one part. */
  last(who: Caller, count: number): readonly AuditEntry[] {
    return this.#entries
      .filter((entry) => maySee(who, entry))
      .slice(-count)
      .toReversed()
  }

  listen(listener: (entry: AuditEntry) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

export function maySee(who: Caller, { queue, topic }: AuditEntry): boolean {
  if (!mayUseQueue(who, queue)) return false
  return who.topicPrefix === undefined || (topic !== undefined && mayUseTopic(who, topic))
}
