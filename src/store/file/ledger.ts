/**
 * The books of one transaction: the numbers that many messages share, read once, changed in memory, written back
 * once at the end. Another process may have changed them since our last transaction, so a ledger never outlives
 * its own.
 *
 *   sequence   gives every message its place in the produce order, and every lease its token
 *   topics     how many messages are where, and when the first of them is due
 *   wakes      queues in which something is now due sooner than anybody was told
 *
 * When to wake: a worker sleeps until the first message of its topics is due. So whoever makes a topic's first
 * moment earlier than it was wakes the sleepers; nobody else needs to.
 */
import { PRIORITIES, type PriorityRank } from '../../core/message.ts'
import { AFTER_ALL, BEFORE_ALL, lineRange, metaKey, parseWaitingKey, topicKey, topicNameKey } from './keys.ts'
import { corrupt } from './seal.ts'
import { decodeNumber, encodeNumber } from './number.ts'
import { decodeTopic, encodeTopic, isEmpty, lineOf, newTopic, place, take, type Topic } from './topic.ts'
import type { Tree } from './tree.ts'

const SEQUENCE_KEY = metaKey('sequence')

type OpenTopic = {
  readonly topic: Topic
  /** As it lies in the tree; undefined for a new one. */
  readonly stored: Buffer | undefined
  /** The earliest moment of what waits; undefined: not known at the moment. */
  firstAt: number | undefined
}

export class Ledger {
  readonly tree: Tree
  /** The numbers of the queues whose sleepers must look again. */
  readonly wakes = new Set<number>()
  #sequence: number | undefined
  readonly #topics = new Map<number, OpenTopic>()
  readonly #topicNumbers = new Map<string, number>()

  constructor(tree: Tree) {
    this.tree = tree
  }

  /** A number never handed out before, larger than all of them. */
  nextSequence(): number {
    this.#sequence ??= this.#readNumber(SEQUENCE_KEY) ?? 0
    this.#sequence += 1
    return this.#sequence
  }

  topicNamed(queue: number, name: string): Topic | undefined {
    const alias = `${queue} ${name}`
    const known = this.#topicNumbers.get(alias) ?? this.#readNumber(topicNameKey(queue, name))
    if (known === undefined) return undefined
    this.#topicNumbers.set(alias, known)
    return this.topic(queue, known)
  }

  internTopic(queue: number, name: string): Topic {
    const known = this.topicNamed(queue, name)
    if (known !== undefined) return known
    const topic = newTopic(queue, this.nextSequence(), name)
    this.tree.put(topicNameKey(queue, name), encodeNumber(topic.number))
    this.#topicNumbers.set(`${queue} ${name}`, topic.number)
    this.#topics.set(topic.number, { topic, stored: undefined, firstAt: Infinity })
    return topic
  }

  topic(queue: number, number: number): Topic {
    return this.#open(queue, number).topic
  }

  /** A message begins to wait. */
  place(topic: Topic, priority: PriorityRank, dueAt: number, now: number): void {
    const open = this.#open(topic.queue, topic.number)
    open.firstAt ??= firstMoment(this.tree, topic) ?? Infinity
    if (dueAt < open.firstAt) {
      open.firstAt = dueAt
      this.wakes.add(topic.queue)
    }
    const line = lineOf(topic, priority)
    // The mark of an empty line can be moved for nothing; near the present it spares `count` the walk.
    if (line.waiting === 0) line.markAt = now
    place(line, dueAt)
  }

  /** A message waits no longer. */
  take(topic: Topic, priority: PriorityRank, dueAt: number): void {
    take(lineOf(topic, priority), dueAt)
    this.#open(topic.queue, topic.number).firstAt = undefined
  }

  /** Writes the books back. The last thing in a transaction. */
  close(): void {
    if (this.#sequence !== undefined) this.tree.put(SEQUENCE_KEY, encodeNumber(this.#sequence))
    for (const open of this.#topics.values()) this.#closeTopic(open)
  }

  /**
   * What did not change is not written: a claim that came too late changes nothing, and then costs no sync. A topic
   * without messages is forgotten, so that a program with ever new topics does not fill the disk.
   */
  #closeTopic({ topic, stored }: OpenTopic): void {
    const key = topicKey(topic.queue, topic.number)
    if (isEmpty(topic)) {
      this.tree.remove(key)
      this.tree.remove(topicNameKey(topic.queue, topic.name))
      return
    }
    const value = encodeTopic(topic)
    if (stored === undefined || !stored.equals(value)) this.tree.put(key, value)
  }

  #open(queue: number, number: number): OpenTopic {
    const known = this.#topics.get(number)
    if (known !== undefined) return known
    const value = this.tree.get(topicKey(queue, number))
    if (value === undefined) throw corrupt(`topic ${number} has messages but no counts`)
    const open = { topic: decodeTopic(value, queue, number), stored: value, firstAt: undefined }
    this.#topics.set(number, open)
    return open
  }

  #readNumber(key: Buffer): number | undefined {
    const value = this.tree.get(key)
    return value === undefined ? undefined : decodeNumber(value)
  }
}

/** The earliest moment among the messages that wait in a topic. */
export function firstMoment(tree: Tree, topic: Topic): number | undefined {
  let first: number | undefined
  for (const [priority, { waiting }] of topic.lines.entries()) {
    if (waiting === 0) continue
    const key = tree.firstKey(lineRange(topic.number, priority, BEFORE_ALL, AFTER_ALL))
    if (key === undefined) {
      throw corrupt(`topic "${topic.name}" counts ${waiting} ${PRIORITIES[priority]} messages and holds none`)
    }
    const { dueAt } = parseWaitingKey(key)
    if (first === undefined || dueAt < first) first = dueAt
  }
  return first
}
