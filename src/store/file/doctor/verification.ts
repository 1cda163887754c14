/**
 * Every message against everything that is known about it. A verb sees only the messages that it touches; this walk sees
 * the rest: a checksum that does not fit, a row that its index does not hold, a count that is off.
 *
 * It runs in one snapshot on a thread of its own, so that others go on working. Cost: about 5 µs a message, and SQLite's
 * own check of the whole file, about a second for each 200 MiB.
 */
import { isControl } from '../../../core/control.ts'
import { PunctualError } from '../../../core/errors.ts'
import { Database } from '../database/database.ts'
import { DATA_FILE, sizeOf } from '../directory.ts'
import { explainFailure } from '../failure.ts'
import { WHOLE_ROW, readTexts, type WholeRow } from '../database/message.ts'
import { REMEMBERED } from '../database/schema.ts'
import type { View } from '../verbs/scene.ts'

const SLICE = 500
/** Above this only the first messages are checked, and SQLite's own check is left out. */
const CHECKED_BYTES_MAX = 1024 * 1024 * 1024
const CHECKED_MAX = 100_000
const SHOWN_MAX = 20

export type Verification = {
  /** Messages as `list` knows them; those of our own, and what is remembered of others, are checked and not counted. */
  readonly checked: number
  /** False when there was too much to look at all of it. */
  readonly isComplete: boolean
  readonly problems: readonly string[]
}

const ROWS = `SELECT ${WHOLE_ROW} FROM message WHERE seq > ? ORDER BY seq LIMIT ?`
const SCHEMA = 'SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name'
const INTEGRITY = `PRAGMA integrity_check(${SHOWN_MAX})`
const IS = (state: number): string => `sum(message.state = ${state})`
const SUCCESSORS =
  '(SELECT count(*) FROM successor WHERE successor.queue = topic.queue AND successor.topic = topic.name)'
const TOPICS = `SELECT topic.name, topic.waiting, topic.running, topic.dead, topic.next_at, coalesce(${IS(0)}, 0) AS w,
    coalesce(${IS(1)}, 0) AS r, coalesce(${IS(2)}, 0) AS d, ${SUCCESSORS} AS s,
    min(CASE message.state WHEN 0 THEN message.due_at END) AS at
  FROM topic LEFT JOIN message USING (topic) GROUP BY topic.topic
  HAVING waiting <> w + s OR running <> r OR topic.dead <> d OR next_at IS NOT at OR w + r + d + s = 0 LIMIT ${SHOWN_MAX}`
const QUEUES = `SELECT queue.name FROM queue LEFT JOIN topic USING (queue) GROUP BY queue.queue
  HAVING queue.waiting <> coalesce(sum(topic.waiting), 0) OR queue.running <> coalesce(sum(topic.running), 0)
    OR queue.dead <> coalesce(sum(topic.dead), 0) LIMIT ${SHOWN_MAX}`
const LOST = `SELECT 'message ' || seq || ' has no topic' AS problem FROM message LEFT JOIN topic USING (topic)
    WHERE topic.name IS NULL AND state <> 3
  UNION ALL SELECT 'message ' || seq || ' is newer than its store' FROM message
    WHERE seq > (SELECT sequence FROM queue WHERE queue = 0)
  UNION ALL SELECT 'message ' || seq || ' runs without an owner' FROM message LEFT JOIN owner USING (owner)
    WHERE state = 1 AND name IS NULL
  UNION ALL SELECT 'message ' || seq || ' is in no state' FROM message WHERE state NOT IN (0, 1, 2, 3)
  UNION ALL SELECT 'body ' || seq || ' has no message' FROM body LEFT JOIN message USING (seq) WHERE id IS NULL
  UNION ALL SELECT 'the successor of "' || id || '" waits for nothing' FROM successor LEFT JOIN message USING (queue, id)
    WHERE message.state IS NOT 1 OR message.mark & 1 = 0
  UNION ALL SELECT 'message ' || seq || ' has lost its successor' FROM message LEFT JOIN successor USING (queue, id)
    WHERE message.mark & 1 = 1 AND successor.topic IS NULL
  UNION ALL SELECT 'tag "' || tag || '" of message ' || seq || ' is not its own' FROM tag LEFT JOIN message USING (seq)
    WHERE message.id IS NOT tag.id OR message.queue IS NOT tag.queue OR coalesce(instr(message.tags, json_quote(tag)), 0) +
      coalesce(instr((SELECT successor.tags FROM successor WHERE successor.queue = tag.queue AND successor.id = tag.id),
        json_quote(tag)), 0) = 0
  UNION ALL SELECT 'message ' || seq || ' is not among its tags' FROM message
    WHERE tags IS NOT NULL AND json_valid(tags) AND json_array_length(tags) <>
      (SELECT count(*) FROM json_each(message.tags) JOIN tag ON tag.tag = value
        AND tag.queue = message.queue AND tag.id = message.id AND tag.seq = message.seq)
  LIMIT ${SHOWN_MAX}`

export function verify(view: View): Verification {
  const problems: string[] = []
  let checked = 0
  const isComplete = sizeOf(view.db.directory, DATA_FILE) <= CHECKED_BYTES_MAX
  try {
    view.db.snapshot(() => {
      checked = checkMessages(view, isComplete ? Infinity : CHECKED_MAX, problems)
      problems.push(...checkSchema(view))
      if (isComplete) problems.push(...checkBooks(view))
    })
  } catch (error) {
    problems.push(explainFailure(error, view.db.directory).message)
  }
  return { checked, isComplete, problems }
}

function checkMessages({ db }: View, max: number, problems: string[]): number {
  let [checked, counted] = [0, 0]
  for (let last = -1; checked < max;) {
    const rows = db.all<WholeRow>(ROWS, last, SLICE)
    for (const row of rows) {
      if (row.state !== REMEMBERED && !isControl(row.id)) counted += 1
      try {
        readTexts(db, row)
      } catch (error) {
        if (!(error instanceof PunctualError)) throw error
        problems.push(error.message)
      }
    }
    checked += rows.length
    last = rows.at(-1)?.seq ?? last
    if (rows.length < SLICE) break
  }
  return counted
}

/** The tables are as we make them. */
function checkSchema({ db }: View): string[] {
  const fresh = Database.inMemory()
  try {
    const isSame = JSON.stringify(db.all(SCHEMA)) === JSON.stringify(fresh.all(SCHEMA))
    return isSame ? [] : ['the tables are not as punctual made them']
  } finally {
    fresh.close()
  }
}

function checkBooks({ db }: View): string[] {
  const integrity = db.all<{ integrity_check: string }>(INTEGRITY).flatMap((row) => row.integrity_check)
  const topics = db.all<{ name: string }>(TOPICS).map(({ name }) => `the counts of topic "${name}" are off`)
  const queues = db.all<{ name: string }>(QUEUES).map(({ name }) => `the totals of queue "${name}" are off`)
  const lost = db.all<{ problem: string }>(LOST)
  return [
    ...integrity.filter((one) => one !== 'ok'),
    ...lost.map(({ problem }) => problem),
    ...topics,
    ...queues,
  ]
}
