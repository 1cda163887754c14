/**
 * The books of one transaction: numbers that many messages share, read once, changed in memory, written back once at the
 * end. Another process may have changed them since our last transaction, so a ledger never outlives its own.
 *
 * The ledger first, then the rows: it looks up a topic's first moment when it is asked for, and what is about to be
 * placed must not be among those it finds.
 *
 * When to wake: a worker sleeps until the first message of its topics is due. So who makes a topic's first moment
 * earlier than it was wakes the sleepers, and no other place needs to.
 */
import type { Wake } from '../../thread/protocol.ts'
import { corrupt } from '../failure.ts'
import type { Database } from './database.ts'
import { RUNNING, WAITING, type StateNumber } from './schema.ts'

export type TopicRow = {
  readonly topic: number
  readonly queue: number
  readonly name: string
  waiting: number
  running: number
  dead: number
  /** When the first of those that wait without a key is due; null when none does. */
  next_at: number | null
  /** Of the last service of its keys; null while it has none. */
  stamp: number | null
}

type Book = { readonly row: TopicRow; isChanged: boolean; isNextKnown: boolean; isStamped: boolean }
type QueueChange = { waiting: number; running: number; dead: number }

export const TOPIC_COLUMNS = `topic, queue, name, waiting, running, dead, next_at,
  (SELECT stamp FROM keyed_topic WHERE keyed_topic.topic = topic.topic) AS stamp`
const TOPIC = `SELECT ${TOPIC_COLUMNS} FROM topic`
export const TOPIC_BY_NAME = `${TOPIC} WHERE queue = ? AND name = ?`
const TOPIC_BY_NUMBER = `${TOPIC} WHERE topic = ?`
const NEW_TOPIC = `INSERT INTO topic (queue, name, waiting, running, dead) VALUES (?, ?, 0, 0, 0) RETURNING topic`
const SET_TOPIC = 'UPDATE topic SET waiting = ?, running = ?, dead = ?, next_at = ? WHERE topic = ?'
const DROP_TOPIC = 'DELETE FROM topic WHERE topic = ?'
const first = (priority: number): string =>
  `SELECT min(due_at) AS at FROM message INDEXED BY message_due WHERE state = 0 AND topic = ?1 AND priority = ${priority}`
const NEXT_AT = `SELECT min(at) AS at FROM (${[0, 1, 2].map(first).join(' UNION ALL ')})`
const NEW_STAMP = 'INSERT INTO keyed_topic (topic, stamp) VALUES (?, 0)'
const SET_STAMP = 'UPDATE keyed_topic SET stamp = ? WHERE topic = ?'
const DROP_STAMP = 'DELETE FROM keyed_topic WHERE topic = ?'
const SEQUENCE = 'SELECT sequence FROM queue WHERE queue = 0'
const SET_SEQUENCE = 'UPDATE queue SET sequence = ? WHERE queue = 0'
const ADD_TOTALS =
  'UPDATE queue SET waiting = waiting + ?, running = running + ?, dead = dead + ? WHERE queue = ?'

export class Ledger {
  readonly #db: Database
  readonly #books = new Map<number, Book>()
  readonly #named = new Map<string, Book | undefined>()
  readonly #totals = new Map<number, QueueChange>()
  readonly #wakes = new Map<string, Wake>()
  readonly #cancelling = new Set<string>()
  #sequence: number | undefined
  #givenSequence: number | undefined

  constructor(db: Database) {
    this.#db = db
  }

  /** A number never given to a message before, larger than all of them. */
  nextSequence(): number {
    this.#sequence ??= this.#db.get<{ sequence: number }>(SEQUENCE)?.sequence ?? 0
    this.#sequence += 1
    this.#givenSequence = this.#sequence
    return this.#sequence
  }

  topicNamed(queue: number, name: string): TopicRow | undefined {
    const alias = `${queue} ${name}`
    if (!this.#named.has(alias))
      this.#named.set(alias, this.#keep(this.#db.get<TopicRow>(TOPIC_BY_NAME, queue, name)))
    return this.#named.get(alias)?.row
  }

  internTopic(queue: number, name: string): TopicRow {
    const known = this.topicNamed(queue, name)
    if (known !== undefined) return known
    const { topic } = this.#db.get<{ topic: number }>(NEW_TOPIC, queue, name) ?? { topic: 0 }
    const row: TopicRow = { topic, queue, name, waiting: 0, running: 0, dead: 0, next_at: null, stamp: null }
    const book = this.#keep(row)
    // If nothing is stored in it after all, it is forgotten at the end.
    if (book !== undefined) book.isChanged = true
    this.#named.set(`${queue} ${name}`, book)
    return row
  }

  /** A message is about to be in this state. If it will wait, who must know is woken, but for `giver`. */
  add(topic: number, state: StateNumber, dueAt: number, queueName: string, giver?: string): void {
    const nextAt = state === WAITING ? this.nextAt(topic) : null
    const book = this.#count(topic, state, 1)
    if (state === WAITING && (nextAt === null || dueAt < nextAt)) this.#setNext(book, dueAt, queueName, giver)
  }

  /** A message that waits is about to be due at another moment. */
  move(topic: number, dueAt: number, queueName: string): void {
    const nextAt = this.nextAt(topic)
    const book = this.#count(topic, WAITING, 0)
    if (nextAt === null || dueAt < nextAt) this.#setNext(book, dueAt, queueName, undefined)
    else book.isNextKnown = false
  }

  take(topic: number, state: StateNumber): void {
    const book = this.#count(topic, state, -1)
    if (state === WAITING) book.isNextKnown = false
  }

  /** Counts a message that is not in the line of its topic: a successor, or one with a key. No worker is woken for it. */
  count(topic: number, state: StateNumber, by: 1 | -1): void {
    this.#count(topic, state, by)
  }

  /** Whether the topic has keys, from now on. */
  setKeyed(topic: number, isKeyed: boolean): void {
    const book = this.#book(topic)
    book.row.stamp = isKeyed ? 0 : null
    // It may be empty, and was kept for its keys.
    book.isChanged = true
    this.#db.run(isKeyed ? NEW_STAMP : DROP_STAMP, topic)
  }

  /** When a key of the topic was served last. */
  setStamp(topic: number, stamp: number): void {
    const book = this.#book(topic)
    book.row.stamp = stamp
    book.isStamped = true
  }

  /** Something that runs in this queue is to be cancelled. */
  wakeCancelling(queueName: string): void {
    this.#cancelling.add(queueName)
  }

  /** So many of those that waited run now. */
  start(topic: number, count: number): void {
    this.#count(topic, RUNNING, count)
    this.#count(topic, WAITING, -count).isNextKnown = false
  }

  /** When the first of those that wait in this topic is due. */
  nextAt(topic: number): number | null {
    return this.#nextAt(this.#book(topic))
  }

  /** Wakes everybody: something that held a topic back is gone, or a control changed. */
  wake(queueName: string, kind: Wake['kind']): void {
    const isCovered = this.#wakes.get(queueName)?.kind === 'controls'
    if (!isCovered) this.#wakes.set(queueName, { kind, queue: queueName })
  }

  /** A key of this queue can be handed something sooner than sleepers know. */
  wakeForKey(queueName: string, giver: string | undefined): void {
    this.#wakeFor(queueName, giver)
  }

  topicNumbered(topic: number): Readonly<TopicRow> {
    return this.#book(topic).row
  }

  /** Writes the books back: the last thing in a transaction. A topic without messages is forgotten. */
  close(): readonly Wake[] {
    if (this.#givenSequence !== undefined) this.#db.run(SET_SEQUENCE, this.#givenSequence)
    for (const book of this.#books.values()) {
      if (book.isStamped && book.row.stamp !== null) this.#db.run(SET_STAMP, book.row.stamp, book.row.topic)
      if (book.isChanged) this.#write(book)
    }
    for (const [queue, { waiting, running, dead }] of this.#totals) {
      if (waiting !== 0 || running !== 0 || dead !== 0)
        this.#db.run(ADD_TOTALS, waiting, running, dead, queue)
    }
    const cancelling = [...this.#cancelling].map((queue): Wake => ({ kind: 'cancelling', queue }))
    return [...cancelling, ...this.#wakes.values()]
  }

  #setNext(book: Book, dueAt: number, queueName: string, giver: string | undefined): void {
    book.row.next_at = dueAt
    this.#wakeFor(queueName, giver)
  }

  #wakeFor(queueName: string, giver: string | undefined): void {
    const known = this.#wakes.get(queueName)
    if (known?.kind === 'controls') return
    const isOnlyGiver = giver !== undefined && (known === undefined || known.giver === giver)
    this.#wakes.set(queueName, { kind: 'due', queue: queueName, ...(isOnlyGiver ? { giver } : {}) })
  }

  #write(book: Book): void {
    const { topic, waiting, running, dead, stamp } = book.row
    if (waiting + running + dead === 0 && stamp === null) this.#db.run(DROP_TOPIC, topic)
    else this.#db.run(SET_TOPIC, waiting, running, dead, this.#nextAt(book), topic)
  }

  #count(topic: number, state: StateNumber, change: number): Book {
    const book = this.#book(topic)
    book.isChanged = true
    let totals = this.#totals.get(book.row.queue)
    if (totals === undefined) this.#totals.set(book.row.queue, (totals = { waiting: 0, running: 0, dead: 0 }))
    const name = state === WAITING ? 'waiting' : state === RUNNING ? 'running' : 'dead'
    book.row[name] += change
    totals[name] += change
    return book
  }

  #nextAt(book: Book): number | null {
    if (!book.isNextKnown) {
      const { topic, waiting } = book.row
      book.row.next_at =
        waiting === 0 ? null : (this.#db.get<{ at: number | null }>(NEXT_AT, topic)?.at ?? null)
      book.isNextKnown = true
    }
    return book.row.next_at
  }

  #book(topic: number): Book {
    const known = this.#books.get(topic) ?? this.#keep(this.#db.get<TopicRow>(TOPIC_BY_NUMBER, topic))
    if (known === undefined) throw corrupt(`topic ${topic} has messages but no counts`)
    return known
  }

  /** One book for a topic, however it was found. */
  #keep(row: TopicRow | undefined): Book | undefined {
    if (row === undefined) return undefined
    const known = this.#books.get(row.topic)
    if (known !== undefined) return known
    const book: Book = { row, isChanged: false, isNextKnown: true, isStamped: false }
    this.#books.set(row.topic, book)
    return book
  }
}
