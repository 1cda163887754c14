/** The topics seen so far: a number for each, its ready lines by priority, and how many messages are where. */
import { PRIORITIES, type PriorityRank } from '../../core/message.ts'
import { ReadyLine } from './line.ts'

export type Topic = {
  readonly name: string
  readonly number: number
  readonly lines: readonly ReadyLine[]
  waiting: number
  running: number
  dead: number
}

export class Topics {
  readonly #isAlive: (slot: number, dueAt: number, order: number) => boolean
  readonly #all: Topic[] = []
  readonly #byName = new Map<string, Topic>()

  constructor(isAlive: (slot: number, dueAt: number, order: number) => boolean) {
    this.#isAlive = isAlive
  }

  named(name: string): Topic | undefined {
    return this.#byName.get(name)
  }

  numbered(number: number): Topic {
    return this.#all[number] as Topic
  }

  intern(name: string): Topic {
    const known = this.#byName.get(name)
    if (known !== undefined) return known
    const lines = PRIORITIES.map(() => new ReadyLine(this.#isAlive))
    const topic: Topic = { name, number: this.#all.length, lines, waiting: 0, running: 0, dead: 0 }
    this.#all.push(topic)
    this.#byName.set(name, topic)
    return topic
  }

  all(): readonly Topic[] {
    return this.#all
  }
}

export function lineOf(topic: Topic, priority: PriorityRank): ReadyLine {
  return topic.lines[priority] as ReadyLine
}
