/**
 * Successors: what replaces a message while it runs waits here, one for each id, and takes its place when that attempt
 * ends. It counts as one that waits in its topic; its tags lead to the message that it waits for.
 */
import type { PriorityRank } from '../../../core/message.ts'
import type { DueTime, NewMessage, Successor } from '../../contract/store.ts'
import { boundedMoment, dueAtOf } from '../../shared/moments.ts'
import { contentSum, numbersSum } from '../database/checksum.ts'
import {
  fromSql,
  indexTags,
  parseTags,
  tagsOf,
  toSql,
  unindexTags,
  type MessageRow,
  type Text,
} from '../database/message.ts'
import { SUCCEEDED, WAITING } from '../database/schema.ts'
import { corrupt } from '../failure.ts'
import type { Scene, View } from './scene.ts'

type SuccessorRow = {
  readonly topic: string
  readonly priority: PriorityRank
  readonly due_at: number
  readonly produced_at: number
  readonly checksum: number
  readonly tags: string | null
  readonly key: string | null
  readonly meta: Text
  readonly body: Text
}

type Predecessor = Pick<MessageRow, 'seq' | 'queue' | 'id'>
type SuccessorMoment = { readonly dueAt: number; readonly producedAt: number }

const BY_ID = `SELECT topic, priority, due_at, produced_at, checksum, tags, key, meta, body FROM successor
  WHERE queue = ? AND id = ?`
const INSERT = `INSERT INTO successor (queue, id, topic, priority, due_at, produced_at, checksum, tags, key, meta, body)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const DELETE = 'DELETE FROM successor WHERE queue = ? AND id = ?'
const MARK = 'UPDATE message SET mark = mark | ? WHERE seq = ?'
const UNMARK = 'UPDATE message SET mark = mark & ~? WHERE seq = ?'

/** In place of any other that waits for this one. */
export function succeed(scene: Scene, row: Predecessor, message: NewMessage): void {
  const replacedAt = readRow(scene, row.id)?.produced_at
  const { dueAt, producedAt } = boundedMoment(message, replacedAt, scene.now)
  dropSuccessor(scene, row)
  keep(scene, row, message, { dueAt: Math.floor(dueAt), producedAt })
}

/** It waits no longer: the message that it succeeds leaves, or somebody took it back. */
export function dropSuccessor(scene: Scene, row: Predecessor): (NewMessage & SuccessorMoment) | undefined {
  const { db, queue, ledger } = scene
  const found = readSuccessor(scene, row.id)
  if (found === undefined) return undefined
  db.run(DELETE, queue, row.id)
  db.run(UNMARK, SUCCEEDED, row.seq)
  unindexTags(db, row, addedTags(scene, row, found.tags))
  ledger.count(ledger.internTopic(queue, found.topic).topic, WAITING, -1)
  return { ...found, id: row.id, when: { at: found.dueAt }, ifExists: 'replace' }
}

/** False: there is none. */
export function moveSuccessor(scene: Scene, row: Predecessor, when: DueTime): boolean {
  const message = dropSuccessor(scene, row)
  if (message === undefined) return false
  const dueAt = Math.floor(dueAtOf(when, scene.now))
  keep(scene, row, message, { dueAt, producedAt: message.producedAt })
  return true
}

export function readSuccessor(view: View, id: string): Successor | undefined {
  const row = readRow(view, id)
  if (row === undefined) return undefined
  const { topic, priority, due_at: dueAt, produced_at: producedAt, key } = row
  const [meta, body] = [fromSql(row.meta), fromSql(row.body)]
  if (row.checksum !== checksumOf(id, { meta, body, priority, key }, { dueAt, producedAt }, row.tags))
    throw corrupt(`the successor of message "${id}" does not match its checksum`)
  const tags = parseTags(row.tags)
  return { topic, body, meta, tags, ...(key === null ? {} : { key }), priority, dueAt, producedAt }
}

function keep(scene: Scene, row: Predecessor, message: NewMessage, moment: SuccessorMoment): void {
  const { db, queue, ledger } = scene
  const { topic, priority, meta, body, tags = [], key } = message
  const ownTags = tags.length === 0 ? null : JSON.stringify(tags)
  const checksum = checksumOf(row.id, message, moment, ownTags)
  const { dueAt, producedAt } = moment
  ledger.count(ledger.internTopic(queue, topic).topic, WAITING, 1)
  db.run(
    INSERT,
    queue,
    row.id,
    topic,
    priority,
    dueAt,
    producedAt,
    checksum,
    ownTags,
    key ?? null,
    toSql(meta),
    toSql(body),
  )
  db.run(MARK, SUCCEEDED, row.seq)
  indexTags(db, row, addedTags(scene, row, tags))
}

function readRow({ db, queue }: View, id: string): SuccessorRow | undefined {
  return db.get<SuccessorRow>(BY_ID, queue, id)
}

/** Those that its predecessor does not have. */
function addedTags({ db }: View, row: Predecessor, tags: readonly string[]): readonly string[] {
  const own = tagsOf(db, row)
  return tags.filter((tag) => !own.includes(tag))
}

function checksumOf(
  id: string,
  {
    meta,
    body,
    priority,
    key,
  }: Pick<NewMessage, 'meta' | 'body' | 'priority'> & { readonly key?: string | null },
  { dueAt, producedAt }: SuccessorMoment,
  tags: string | null,
): number {
  const content = contentSum(id, meta, body, tags, key)
  return (content ^ numbersSum(0, priority, dueAt, null, producedAt, 0, 0)) >>> 0
}
