/**
 * The counts beside the messages against the messages themselves: what waits, runs and is dead of each topic is added up on one
 * walk over all of them, so that the work is that of the messages, however many topics there are.
 */
import type { Database } from '../database/database.ts'
import type { WholeRow } from '../database/message.ts'
import { DEAD, IN_TURN, RUNNING, WAITING } from '../database/schema.ts'

type AddedUp = { waiting: number; running: number; dead: number; nextAt: number | null }

type Row = {
  readonly topic: number
  readonly queue: number
  readonly name: string
  readonly waiting: number
  readonly running: number
  readonly dead: number
  readonly next_at: number | null
  readonly isKeyed: 0 | 1
}

const SLICE = 500

const TOPICS = `SELECT topic, queue, name, waiting, running, dead, next_at,
    EXISTS (SELECT 1 FROM keyed_topic WHERE keyed_topic.topic = topic.topic) AS isKeyed
  FROM topic WHERE topic > ? ORDER BY topic LIMIT ${SLICE}`
const SUCCESSORS = 'SELECT queue, topic AS name, count(*) AS n FROM successor GROUP BY queue, topic'
const QUEUES = `SELECT queue.name FROM queue LEFT JOIN
    (SELECT queue, sum(waiting) AS w, sum(running) AS r, sum(dead) AS d FROM topic GROUP BY queue) USING (queue)
  WHERE queue.waiting <> coalesce(w, 0) OR queue.running <> coalesce(r, 0) OR queue.dead <> coalesce(d, 0)`

export class Books {
  readonly #found = new Map<number, AddedUp>()

  add({ topic, state, due_at }: WholeRow): void {
    let found = this.#found.get(topic)
    if (found === undefined)
      this.#found.set(topic, (found = { waiting: 0, running: 0, dead: 0, nextAt: null }))
    if (state === WAITING || state === IN_TURN) found.waiting += 1
    if (state === WAITING) found.nextAt = Math.min(found.nextAt ?? Infinity, due_at)
    if (state === RUNNING) found.running += 1
    if (state === DEAD) found.dead += 1
  }

  /** When all messages are added: what does not fit. */
  *problems(db: Database): Generator<string> {
    const successors = new Map(
      db
        .all<{ queue: number; name: string; n: number }>(SUCCESSORS)
        .map(({ queue, name, n }) => [`${queue} ${name}`, n]),
    )
    for (let last = -1; ;) {
      const rows = db.all<Row>(TOPICS, last)
      for (const row of rows)
        if (!this.#fits(row, successors.get(`${row.queue} ${row.name}`) ?? 0))
          yield `the counts of topic "${row.name}" are off`
      if (rows.length < SLICE) break
      last = rows.at(-1)?.topic ?? last
    }
    for (const { name } of db.all<{ name: string }>(QUEUES)) yield `the totals of queue "${name}" are off`
  }

  #fits({ topic, waiting, running, dead, next_at, isKeyed }: Row, successors: number): boolean {
    const found = this.#found.get(topic) ?? { waiting: 0, running: 0, dead: 0, nextAt: null }
    return (
      waiting === found.waiting + successors &&
      running === found.running &&
      dead === found.dead &&
      next_at === found.nextAt &&
      (waiting + running + dead > 0 || isKeyed === 1)
    )
  }
}
