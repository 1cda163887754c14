/**
 * The place: the value under a message's id, which says where its record is, or was before it began to run.
 *
 *   0     4      5         6      12        18     24
 *   seal  state  priority  dueAt  sequence  topic
 *
 * A claim does not touch it (see `keys.ts`). So a place that says `waiting` means: in its line, or else running.
 */
import type { PriorityRank } from '../../core/message.ts'
import { deadKey, placeKey, runningKey, waitingKey } from './keys.ts'
import { readRecord, type RecordState } from './record.ts'
import { corrupt, seal, unseal } from './seal.ts'
import type { Tree } from './tree.ts'

export type Place = {
  readonly state: 'waiting' | 'dead'
  readonly priority: PriorityRank
  readonly dueAt: number
  readonly sequence: number
  readonly topic: number
}

/** A message that was found, and where. */
export type Located = {
  readonly state: RecordState
  readonly place: Place
  /** Of its record. */
  readonly key: Buffer
  /** Its record, unchecked: even a damaged one can be removed. */
  readonly bytes: Buffer
}

const STATE = 4
const PRIORITY = 5
const DUE_AT = 6
const SEQUENCE = 12
const TOPIC = 18
const PLACE_BYTES = 24
const NUMBER_BYTES = 6

const WAITING = 1
const DEAD = 2

export function encodePlace(place: Place): Buffer {
  const value = Buffer.allocUnsafe(PLACE_BYTES)
  value[STATE] = place.state === 'waiting' ? WAITING : DEAD
  value[PRIORITY] = place.priority
  value.writeUIntLE(place.dueAt, DUE_AT, NUMBER_BYTES)
  value.writeUIntLE(place.sequence, SEQUENCE, NUMBER_BYTES)
  value.writeUIntLE(place.topic, TOPIC, NUMBER_BYTES)
  return seal(value)
}

/** Finds a message by its id. A place without a record is damage, and is said so. */
export function locate(tree: Tree, queue: number, id: string): Located | undefined {
  const value = tree.get(placeKey(queue, id))
  if (value === undefined) return undefined
  const place = decodePlace(value, id)
  const { topic, priority, dueAt, sequence } = place
  const key = place.state === 'dead' ? deadKey(topic, sequence) : waitingKey(topic, priority, dueAt, sequence)
  return (
    locatedAt(tree, key, place, place.state) ??
    locatedAt(tree, runningKey(queue, sequence), place, 'running') ??
    missing(id)
  )
}

export function recordOf({ bytes }: Located, id: string): Buffer {
  return readRecord(bytes, () => `message "${id}"`)
}

function locatedAt(tree: Tree, key: Buffer, place: Place, state: RecordState): Located | undefined {
  const bytes = tree.get(key)
  return bytes === undefined ? undefined : { state, place, key, bytes }
}

function missing(id: string): never {
  throw corrupt(`message "${id}" has a place but no record`)
}

function decodePlace(bytes: Buffer, id: string): Place {
  const value = unseal(bytes, () => `the place of "${id}"`)
  return {
    state: value[STATE] === WAITING ? 'waiting' : 'dead',
    priority: value[PRIORITY] as PriorityRank,
    dueAt: value.readUIntLE(DUE_AT, NUMBER_BYTES),
    sequence: value.readUIntLE(SEQUENCE, NUMBER_BYTES),
    topic: value.readUIntLE(TOPIC, NUMBER_BYTES),
  }
}
