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
import { keyProblems } from '../keys/checking.ts'
import type { View } from '../verbs/scene.ts'
import { Books } from './books.ts'

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
const FENCED = "SELECT 1 FROM sqlite_schema WHERE type = 'trigger' LIMIT 1"
const INTEGRITY = `PRAGMA integrity_check(${SHOWN_MAX})`
const LOST = `SELECT 'message ' || seq || ' has no topic' AS problem FROM message LEFT JOIN topic USING (topic)
    WHERE topic.name IS NULL AND state <> 3
  UNION ALL SELECT 'message ' || seq || ' is newer than its store' FROM message
    WHERE seq > (SELECT sequence FROM queue WHERE queue = 0)
  UNION ALL SELECT 'message ' || seq || ' runs without an owner' FROM message LEFT JOIN owner USING (owner)
    WHERE state = 1 AND name IS NULL
  UNION ALL SELECT 'message ' || seq || ' is in no state' FROM message WHERE state NOT IN (0, 1, 2, 3, 4)
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
      const books = new Books()
      checked = checkMessages(view, isComplete ? Infinity : CHECKED_MAX, problems, books)
      problems.push(...checkSchema(view))
      if (isComplete) problems.push(...checkBooks(view, books))
    })
  } catch (error) {
    problems.push(explainFailure(error, view.db.directory).message)
  }
  return { checked, isComplete, problems }
}

function checkMessages({ db }: View, max: number, problems: string[], books: Books): number {
  let [checked, counted] = [0, 0]
  for (let last = -1; checked < max;) {
    const rows = db.all<WholeRow>(ROWS, last, SLICE)
    for (const row of rows) {
      if (row.state !== REMEMBERED && !isControl(row.id)) counted += 1
      books.add(row)
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

/** The tables are as we make them, with the fence that comes with the first key or without. */
function checkSchema({ db }: View): string[] {
  const fresh = Database.inMemory()
  try {
    if (db.get(FENCED) !== undefined) fresh.fence()
    const isSame = JSON.stringify(db.all(SCHEMA)) === JSON.stringify(fresh.all(SCHEMA))
    return isSame ? [] : ['the tables are not as punctual made them']
  } finally {
    fresh.close()
  }
}

function checkBooks(view: View, books: Books): string[] {
  const { db } = view
  const integrity = db.all<{ integrity_check: string }>(INTEGRITY).flatMap((row) => row.integrity_check)
  const lost = db.all<{ problem: string }>(LOST)
  return [
    ...integrity.filter((one) => one !== 'ok'),
    ...lost.map(({ problem }) => problem),
    ...some(books.problems(db)),
    ...some(keyProblems(view, SHOWN_MAX)),
  ]
}

function some(problems: Iterable<string>): string[] {
  const found: string[] = []
  for (const problem of problems) if (found.push(problem) >= SHOWN_MAX) break
  return found
}
