/**
 * The verbs that may join a transaction of the user's own. They go through the user's client, statement by statement, and
 * take effect with the user's commit. Nothing is heard of that commit: a wake-up for what is due at once is sent only where
 * we commit ourselves (`queue.transaction`), else the next look of a worker finds it.
 *
 * Outside of a transaction each statement would commit by itself. MariaDB says whether one is open, and then nothing is done;
 * MySQL has no such variable, and takes what is in the comment for a comment.
 */
import type { SendStatement } from '../../core/input/transaction.ts'
import type * as contract from '../contract/store.ts'
import { followUpsOf } from '../contract/sizes.ts'
import { admitEntries } from '../shared/admission.ts'
import type { Ring } from '../sql/wakeups/bell.ts'
import { noTransaction, rowsOf } from '../sql/replies.ts'
import { clockReading, nowOf, type QueuePlace } from './sql/clock.ts'
import { sql, textOf, type SqlRow, type Statement } from './sql/statement.ts'
import type { Steps } from './transactions.ts'
import { REMEMBERED, WAITING } from './verbs/write/locked-row.ts'
import { RingNotes } from './verbs/write/ring-notes.ts'
import { dueMicros } from './verbs/write/row-set.ts'
import { newOthers, newValues, put } from './verbs/write/putting.ts'
import { remove, reschedule } from './verbs/write/changing.ts'
import { settle } from './verbs/write/settling.ts'

/** A session without autocommit is always in one. */
const LOOK = sql`select ${clockReading(null)} as now_at /*M! , @@in_transaction or not @@autocommit as is_open */`

/** A session without autocommit is in none before it has touched a table: a `begin` there ends nothing. */
const LOOK_OPEN = sql`select 0 /*M! + @@in_transaction */ as is_open`

export type MysqlJoinedOptions = {
  readonly queue: number
  readonly capabilities: contract.Capabilities
  /** Before a message with a key is stored. */
  readonly markKeys: (messages: readonly contract.NewMessage[]) => Promise<void>
  /** After each verb: what to ring for when the transaction is committed. */
  readonly noted: (ring: Ring | undefined) => void
  /** Rings for all that was noted. */
  readonly committed: () => void
}

export class MysqlJoined implements contract.JoinedVerbs {
  readonly capabilities: contract.Capabilities
  readonly #client: SendStatement
  readonly #options: MysqlJoinedOptions
  readonly #where: QueuePlace
  /** One verb after the other. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(client: SendStatement, options: MysqlJoinedOptions) {
    this.#client = client
    this.#options = options
    this.#where = { queue: options.queue, at: null }
    this.capabilities = options.capabilities
  }

  async isOpen(): Promise<boolean> {
    const [[row] = []] = await this.#send([LOOK_OPEN])
    return Number(row?.['is_open'] ?? 0) !== 0
  }

  async put(messages: readonly contract.NewMessage[]): Promise<contract.PutResult[]> {
    admitEntries(messages.length, this.capabilities.batchMax)
    if (messages.length === 0) return []
    await this.#options.markKeys(messages)
    return this.#inTurn((steps, now) => this.#put(steps, messages, now))
  }

  async remove(ids: readonly string[]): Promise<contract.RemoveResult[]> {
    admitEntries(ids.length, this.capabilities.batchMax)
    const how = { wanted: WAITING, isRunningToo: false } as const
    if (ids.length === 0) return []
    const { answers, ring } = await this.#inTurn((steps) => remove(steps, this.#where, ids, how))
    this.#options.noted(ring)
    return answers
  }

  async reschedule(moves: readonly contract.Move[]): Promise<contract.RescheduleResult[]> {
    admitEntries(moves.length, this.capabilities.batchMax)
    if (moves.length === 0) return []
    const { answers, ring } = await this.#inTurn((steps) => reschedule(steps, this.#where, moves))
    this.#options.noted(ring)
    return answers
  }

  async complete(ack: Extract<contract.Settlement, { kind: 'ack' }>): Promise<contract.SettleResult> {
    await this.#options.markKeys(followUpsOf(ack))
    const own = { ...ack, isOwnWord: true }
    const { answers, ring } = await this.#inTurn((steps) => settle(steps, this.#where, [own], true))
    this.#options.noted(ring)
    const [answer = 'lost'] = answers
    return answer === 'locked' ? 'lost' : answer
  }

  committed(): void {
    this.#options.committed()
  }

  /** First those whose ids are free, then, one by one, the others. */
  async #put(
    steps: Steps,
    messages: readonly contract.NewMessage[],
    now: number,
  ): Promise<contract.PutResult[]> {
    const { queue } = this.#where
    const free = await insertFree(steps, queue, messages.filter(isFirst), now)
    const notes = new RingNotes()
    for (const message of free) notes.note(message.topic, dueMicros(message, now))
    this.#options.noted(notes.ring([]))
    const answers: contract.PutResult[] = []
    for (const message of messages) {
      if (free.has(message)) answers.push('stored')
      else if (message.ifExists === 'keep' && (await isTaken(steps, queue, message.id, now)))
        answers.push('duplicate')
      else {
        const placed = await put(steps, { queue, at: now }, [message])
        this.#options.noted(placed.ring)
        answers.push(...placed.answers)
      }
    }
    return answers
  }

  #inTurn<R>(work: (steps: Steps, now: number) => Promise<R>): Promise<R> {
    const before = this.#last
    const send = (...statements: readonly Statement[]): Promise<readonly (readonly SqlRow[])[]> =>
      this.#send(statements)
    const done = (async () => {
      await before.catch(() => undefined)
      const [look] = await send(LOOK)
      if (Number(look?.[0]?.['is_open'] ?? 1) === 0) throw noTransaction()
      return work({ send, commit: send }, nowOf(look))
    })()
    this.#last = done
    return done
  }

  /** Many clients take one statement at a time. */
  async #send(statements: readonly Statement[]): Promise<readonly (readonly SqlRow[])[]> {
    const replies: (readonly SqlRow[])[] = []
    for (const { text, values } of statements) replies.push(rowsOf(await this.#client(text, [...values])))
    return replies
  }
}

function isFirst(message: contract.NewMessage, i: number, all: readonly contract.NewMessage[]): boolean {
  return message.ifBody === undefined && all.findIndex(({ id }) => id === message.id) === i
}

/**
 * Without a look before: a locking look at nothing would, in the isolation that most transactions have, keep everybody else
 * from inserting near it. An id that another open transaction is inserting is waited for. The rows of one insert have
 * numbers in a row, by which they are told from those that were there.
 */
async function insertFree(
  steps: Steps,
  queue: number,
  messages: readonly contract.NewMessage[],
  now: number,
): Promise<ReadonlySet<contract.NewMessage>> {
  if (messages.length === 0) return new Set()
  const [, [told] = []] = await steps.send(
    sql`insert ignore into ${newValues(queue, messages, sql`${now}`)}`,
    sql`select row_count() as n, last_insert_id() as first, @@auto_increment_increment as step`,
  )
  const n = Number(told?.['n'])
  const first = Number(told?.['first'])
  let ours = n === messages.length ? messages : []
  if (n > 0 && n < messages.length) {
    const [rows = []] = await steps.send(
      sql`select id from punctual_message force index (punctual_message_id) where queue = ${queue}
        and id in (${messages.map(({ id }) => id)}) and seq >= ${first}
        and seq < ${first + messages.length * Number(told?.['step'])}`,
    )
    const ids = new Set(rows.map((row) => textOf(row['id'])))
    ours = messages.filter(({ id }) => ids.has(id))
  }
  if (ours.length > 0) await steps.send(...newOthers(queue, ours, sql`${now}`))
  return new Set(ours)
}

async function isTaken(steps: Steps, queue: number, id: string, now: number): Promise<boolean> {
  const [rows = []] = await steps.send(
    sql`select state, until from punctual_message force index (punctual_message_id)
      where queue = ${queue} and id = ${id} and (state < ${REMEMBERED} or until > ${now})`,
  )
  return rows.length > 0
}
