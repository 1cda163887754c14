/** Topics whose messages should have started long ago: the first thing to know about a queue that stands still. */
import { Largest } from '../../core/metrics/largest.ts'
import type { TopicCounts } from '../../store/contract/store.ts'
import { handlersOf, type FoundWorker } from './workers.ts'

export type OverdueTopic = {
  readonly topic: string
  /** The moment of its oldest message that waits, in epoch milliseconds. */
  readonly oldestDueAt: number
  /** How many living workers handle it. Absent where that cannot be known. */
  readonly workers?: number
}

/** Twice what a lost wake-up costs by default (P9). What waits for less is on its way. */
export const OVERDUE_AFTER_MS = 10_000
const OVERDUE_TOPICS_MAX = 100

export function isOverdue(dueAt: number | undefined, now: number): boolean {
  return dueAt !== undefined && now - dueAt >= OVERDUE_AFTER_MS
}

/** Gathers them while the topics pass by: the hundred that have waited longest. */
export class OverdueTopics {
  readonly #now: number
  readonly #found = new Largest<OverdueTopic>(OVERDUE_TOPICS_MAX, (a, b) => a.oldestDueAt - b.oldestDueAt)

  constructor(now: number) {
    this.#now = now
  }

  look(topic: string, { nextDueAt }: TopicCounts): void {
    if (nextDueAt !== undefined && isOverdue(nextDueAt, this.#now)) {
      this.#found.add({ topic, oldestDueAt: nextDueAt })
    }
  }

  /** Longest first. The workers are only asked for when there is something to say about them. */
  async sorted(readWorkers: () => Promise<readonly FoundWorker[]>): Promise<OverdueTopic[]> {
    const found = this.#found.sorted()
    if (found.length === 0) return []
    const workers = await readWorkers()
    return found.map((overdue) => {
      const handlers = handlersOf(overdue.topic, workers)
      return handlers === undefined ? overdue : { ...overdue, workers: handlers.length }
    })
  }
}
