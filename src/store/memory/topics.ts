/**
 * The topics: a number for each, its ready lines by priority, how many messages are where, and until when sleepers were
 * told to sleep as far as it is concerned.
 *
 * A topic without messages is forgotten, but for the thousand that emptied last: one that has a message now and then
 * need not be made anew each time. Its number is given to another.
 *
 * `firstReadyAt` must not look at every topic. A heap lists topics by the moment of their first ready message; a topic
 * is listed when that moment becomes earlier than the one it is listed with, and a listing that is too early is put
 * right when it comes to the top.
 */
import { isControl } from '../../core/control.ts'
import { PRIORITIES, type PriorityRank } from '../../core/message.ts'
import type { TopicKeys } from './keys/keys.ts'
import { ReadyLine } from './line.ts'

const EMPTY_KEPT = 1_000

export type Topic = {
  readonly name: string
  readonly number: number
  /** Of our own (`core/control`): it is in no count and in no list that does not name it. */
  readonly isOurs: boolean
  /** By priority; made when the first message is ready. */
  readonly lines: (ReadyLine | undefined)[]
  /** Made with the first message that has a key. */
  keys?: TopicKeys
  waiting: number
  running: number
  dead: number
  /** The latest moment until which a claimer may sleep: what is due before it must wake them. */
  promisedAt: number
  /** The moment with which it stands in the heap; Infinity when it does not. */
  listedAt: number
}

export type TopicPlace = 'waiting' | 'running' | 'dead'

export class Topics {
  readonly #isInLine: (slot: number, dueAt: number, order: number) => boolean
  readonly #all: (Topic | undefined)[] = []
  readonly #free: number[] = []
  readonly #byName = new Map<string, Topic>()
  readonly #ours = new Set<Topic>()
  readonly #emptied = new Set<Topic>()
  readonly #listed = new ReadyLine((number, dueAt) => this.#all[number]?.listedAt === dueAt)

  constructor(isInLine: (slot: number, dueAt: number, order: number) => boolean) {
    this.#isInLine = isInLine
  }

  /** Every number in use is below this. */
  get numbers(): number {
    return this.#all.length
  }

  get size(): number {
    return this.#byName.size
  }

  /** Topics of our own. */
  get ours(): ReadonlySet<Topic> {
    return this.#ours
  }

  named(name: string): Topic | undefined {
    return this.#byName.get(name)
  }

  at(number: number): Topic | undefined {
    return this.#all[number]
  }

  all(): Iterable<Topic> {
    return this.#byName.values()
  }

  /** Of a message that is there. */
  numbered(number: number): Topic {
    return this.#all[number] as Topic
  }

  intern(name: string): Topic {
    const known = this.#byName.get(name)
    if (known !== undefined) return known
    const number = this.#free.pop() ?? this.#all.length
    const lines = PRIORITIES.map(() => undefined)
    const counts = { waiting: 0, running: 0, dead: 0 }
    const isOurs = isControl(name)
    const topic: Topic = { name, number, isOurs, lines, ...counts, promisedAt: Infinity, listedAt: Infinity }
    if (isOurs) this.#ours.add(topic)
    this.#all[number] = topic
    this.#byName.set(name, topic)
    return topic
  }

  enter(topic: Topic, place: TopicPlace): void {
    topic[place] += 1
  }

  leave(topic: Topic, place: TopicPlace): void {
    topic[place] -= 1
    this.letGo(topic)
  }

  /** Forgets it some time, if nothing is left of it. */
  letGo(topic: Topic): void {
    if (!isEmpty(topic)) return
    this.#emptied.delete(topic)
    this.#emptied.add(topic)
    if (this.#emptied.size > EMPTY_KEPT) this.#forgetOne()
  }

  /** A message of this topic is ready. */
  lineUp(
    topic: Topic,
    priority: PriorityRank,
    message: { slot: number; dueAt: number; order: number },
  ): void {
    const line = (topic.lines[priority] ??= new ReadyLine(this.#isInLine))
    line.push(message.slot, message.dueAt, message.order)
    this.notice(topic, message.dueAt)
  }

  /** A message of this topic that is due then is ready. */
  notice(topic: Topic, dueAt: number): void {
    if (dueAt < topic.listedAt && !topic.isOurs) this.#list(topic, dueAt)
  }

  /** The earliest moment among the ready messages of all topics but our own. */
  firstReadyAt(): number | undefined {
    for (;;) {
      const at = this.#listed.firstDueAt()
      const number = this.#listed.pop()
      if (at === undefined || number === undefined) return undefined
      const topic = this.numbered(number)
      const readyAt = readyAtOf(topic)
      topic.listedAt = Infinity
      if (readyAt !== undefined) this.#list(topic, readyAt)
      if (readyAt === at) return at
    }
  }

  /** Nothing is ready any more. */
  clearLines(): void {
    this.#listed.clear()
    for (const topic of this.#byName.values()) {
      topic.listedAt = Infinity
      for (const line of topic.lines) line?.clear()
    }
  }

  #list(topic: Topic, at: number): void {
    topic.listedAt = at
    this.#listed.push(topic.number, at, topic.number)
    // Listings of topics that are gone, or of earlier moments, must not pile up while they are not asked for.
    if (this.#listed.size > 2 * this.#byName.size + EMPTY_KEPT) this.#listAnew()
  }

  #listAnew(): void {
    this.#listed.clear()
    for (const topic of this.#byName.values()) {
      topic.listedAt = topic.isOurs ? Infinity : (readyAtOf(topic) ?? Infinity)
      if (topic.listedAt !== Infinity) this.#listed.push(topic.number, topic.listedAt, topic.number)
    }
  }

  #forgetOne(): void {
    for (const topic of this.#emptied) {
      this.#emptied.delete(topic)
      if (isEmpty(topic)) {
        this.#byName.delete(topic.name)
        this.#ours.delete(topic)
        this.#all[topic.number] = undefined
        this.#free.push(topic.number)
      }
      return
    }
  }
}

function isEmpty({ waiting, running, dead, keys }: Topic): boolean {
  return waiting + running + dead === 0 && keys === undefined
}

export function isReady({ lines, keys }: Topic): boolean {
  return lines.some((line) => line?.isEmpty() === false) || keys?.isReady === true
}

/** The earliest moment among its ready messages. */
export function readyAtOf({ lines, keys }: Topic): number | undefined {
  let earliest = keys?.readyAt() ?? Infinity
  for (const line of lines) earliest = Math.min(earliest, line?.firstDueAt() ?? Infinity)
  return earliest === Infinity ? undefined : earliest
}
