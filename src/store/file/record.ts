/**
 * A message as it lies in the tree: a header of fixed places, then five texts.
 *
 *   0     4        8      14        20     26     32     38        39       40         44         48          52
 *   seal  attempt  dueAt  sequence  until  token  topic  priority  id size  meta size  body size  error size  texts
 *
 *   texts: id, meta, body, error, reason (the rest)
 *
 * A claim changes the header of the bytes it read and stores them again, without ever decoding and encoding the
 * texts; only a failure, which brings a new error, builds a new record.
 *
 * `until` is the end of the lease of a running message, the hour of death of a dead one, 0 of a waiting one;
 * `token` is the fencing token of a running message's lease, and means nothing in any other state.
 */
import { assertNever } from '../../core/errors.ts'
import type { PriorityRank } from '../../core/message.ts'
import { deadKey, runningKey, waitingKey } from './keys.ts'
import { corrupt, seal, unseal } from './seal.ts'

const ATTEMPT = 4
const DUE_AT = 8
const SEQUENCE = 14
const UNTIL = 20
const TOKEN = 26
const TOPIC = 32
const PRIORITY = 38
const ID_SIZE = 39
const META_SIZE = 40
const BODY_SIZE = 44
const ERROR_SIZE = 48
const HEADER_BYTES = 52
const NUMBER_BYTES = 6

export type NewRecord = {
  readonly id: string
  readonly meta: string
  readonly body: string
  readonly topic: number
  readonly priority: PriorityRank
  readonly dueAt: number
  readonly sequence: number
}

export type RecordChange = {
  readonly attempt?: number
  readonly dueAt?: number
  readonly until?: number
  readonly token?: number
}

export function newRecord(from: NewRecord): Buffer {
  const idSize = Buffer.byteLength(from.id)
  const metaSize = from.meta === '' ? 0 : Buffer.byteLength(from.meta)
  const bodySize = Buffer.byteLength(from.body)
  const record = Buffer.allocUnsafe(HEADER_BYTES + idSize + metaSize + bodySize)
  record.writeUInt32LE(0, ATTEMPT)
  record.writeUIntLE(from.dueAt, DUE_AT, NUMBER_BYTES)
  record.writeUIntLE(from.sequence, SEQUENCE, NUMBER_BYTES)
  record.writeUIntLE(0, UNTIL, NUMBER_BYTES)
  record.writeUIntLE(0, TOKEN, NUMBER_BYTES)
  record.writeUIntLE(from.topic, TOPIC, NUMBER_BYTES)
  record[PRIORITY] = from.priority
  record[ID_SIZE] = idSize
  record.writeUInt32LE(metaSize, META_SIZE)
  record.writeUInt32LE(bodySize, BODY_SIZE)
  record.writeUInt32LE(0, ERROR_SIZE)
  record.write(from.id, HEADER_BYTES)
  if (metaSize > 0) record.write(from.meta, HEADER_BYTES + idSize)
  record.write(from.body, HEADER_BYTES + idSize + metaSize)
  return seal(record)
}

/** Checks a record that came out of the tree. Everything below takes its word. */
export function readRecord(bytes: Buffer, what: () => string): Buffer {
  if (bytes.length < HEADER_BYTES) throw corrupt(`${what()} is too short`)
  return unseal(bytes, what)
}

export type RecordState = 'waiting' | 'running' | 'dead'

/** The key under which a record belongs, in a given state. */
export function keyOf(queue: number, record: Buffer, state: RecordState): Buffer {
  switch (state) {
    case 'waiting':
      return waitingKey(topicOf(record), priorityOf(record), dueAtOf(record), sequenceOf(record))
    case 'running':
      return runningKey(queue, sequenceOf(record))
    case 'dead':
      return deadKey(topicOf(record), sequenceOf(record))
    default:
      return assertNever(state)
  }
}

/** A flipped bit in a key is caught here: the record says where it belongs. */
export function checkKey(key: Buffer, expected: Buffer, record: Buffer): void {
  if (!expected.equals(key)) throw corrupt(`message "${idOf(record)}" lies where it does not belong`)
}

/** Changes the header in place; the caller owns the bytes. */
export function changeRecord(record: Buffer, { attempt, dueAt, until, token }: RecordChange): Buffer {
  if (attempt !== undefined) record.writeUInt32LE(attempt, ATTEMPT)
  if (dueAt !== undefined) record.writeUIntLE(dueAt, DUE_AT, NUMBER_BYTES)
  if (until !== undefined) record.writeUIntLE(until, UNTIL, NUMBER_BYTES)
  if (token !== undefined) record.writeUIntLE(token, TOKEN, NUMBER_BYTES)
  return seal(record)
}

/** The same message with another history: its last error, and the reason if it died of it. */
export function withFailure(record: Buffer, error: string, reason: string): Buffer {
  const kept = errorStart(record)
  const errorSize = Buffer.byteLength(error)
  const next = Buffer.allocUnsafe(kept + errorSize + Buffer.byteLength(reason))
  record.copy(next, 0, 0, kept)
  next.writeUInt32LE(errorSize, ERROR_SIZE)
  next.write(error, kept)
  next.write(reason, kept + errorSize)
  return seal(next)
}

export function attemptOf(record: Buffer): number {
  return record.readUInt32LE(ATTEMPT)
}

export function dueAtOf(record: Buffer): number {
  return record.readUIntLE(DUE_AT, NUMBER_BYTES)
}

export function sequenceOf(record: Buffer): number {
  return record.readUIntLE(SEQUENCE, NUMBER_BYTES)
}

export function untilOf(record: Buffer): number {
  return record.readUIntLE(UNTIL, NUMBER_BYTES)
}

export function tokenOf(record: Buffer): number {
  return record.readUIntLE(TOKEN, NUMBER_BYTES)
}

export function topicOf(record: Buffer): number {
  return record.readUIntLE(TOPIC, NUMBER_BYTES)
}

export function priorityOf(record: Buffer): PriorityRank {
  return record[PRIORITY] as PriorityRank
}

export function idOf(record: Buffer): string {
  return record.toString('utf8', HEADER_BYTES, HEADER_BYTES + idSizeOf(record))
}

export function metaOf(record: Buffer): string {
  const size = record.readUInt32LE(META_SIZE)
  if (size === 0) return ''
  const start = HEADER_BYTES + idSizeOf(record)
  return record.toString('utf8', start, start + size)
}

export function bodyOf(record: Buffer): string {
  const start = HEADER_BYTES + idSizeOf(record) + record.readUInt32LE(META_SIZE)
  return record.toString('utf8', start, start + record.readUInt32LE(BODY_SIZE))
}

export function errorOf(record: Buffer): string {
  const start = errorStart(record)
  return record.toString('utf8', start, start + record.readUInt32LE(ERROR_SIZE))
}

export function reasonOf(record: Buffer): string {
  return record.toString('utf8', errorStart(record) + record.readUInt32LE(ERROR_SIZE))
}

function idSizeOf(record: Buffer): number {
  return record[ID_SIZE] ?? 0
}

function errorStart(record: Buffer): number {
  return HEADER_BYTES + idSizeOf(record) + record.readUInt32LE(META_SIZE) + record.readUInt32LE(BODY_SIZE)
}
