/**
 * Where a message is: the value under its id. Enough to build the key of its record in any state and to tell
 * whether a lease still holds, so that most verbs never read the record itself.
 *
 *   0     4      5         6   12        18     24     30
 *   seal  state  priority  at  sequence  topic  token
 *
 * `at`: waiting: dueAt; running: the end of the lease; dead: 0.
 */
import type { PriorityRank } from '../../core/message.ts'
import { assertNever } from '../../core/errors.ts'
import { deadKey, runningKey, waitingKey } from './keys.ts'
import { seal, unseal } from './seal.ts'

export const WAITING = 1
export const RUNNING = 2
export const DEAD = 3
export type PlaceState = typeof WAITING | typeof RUNNING | typeof DEAD

export type Place = {
  readonly state: PlaceState
  readonly priority: PriorityRank
  readonly at: number
  readonly sequence: number
  readonly topic: number
  /** The fencing token of a running message, 0 otherwise. */
  readonly token: number
}

const STATE = 4
const PRIORITY = 5
const AT = 6
const SEQUENCE = 12
const TOPIC = 18
const TOKEN = 24
const PLACE_BYTES = 30
const NUMBER_BYTES = 6

export function encodePlace(place: Place): Buffer {
  const value = Buffer.allocUnsafe(PLACE_BYTES)
  value[STATE] = place.state
  value[PRIORITY] = place.priority
  value.writeUIntLE(place.at, AT, NUMBER_BYTES)
  value.writeUIntLE(place.sequence, SEQUENCE, NUMBER_BYTES)
  value.writeUIntLE(place.topic, TOPIC, NUMBER_BYTES)
  value.writeUIntLE(place.token, TOKEN, NUMBER_BYTES)
  return seal(value)
}

export function decodePlace(bytes: Buffer, id: string): Place {
  const value = unseal(bytes, () => `the place of "${id}"`)
  return {
    state: value[STATE] as PlaceState,
    priority: value[PRIORITY] as PriorityRank,
    at: value.readUIntLE(AT, NUMBER_BYTES),
    sequence: value.readUIntLE(SEQUENCE, NUMBER_BYTES),
    topic: value.readUIntLE(TOPIC, NUMBER_BYTES),
    token: value.readUIntLE(TOKEN, NUMBER_BYTES),
  }
}

/** The key of the record of a message in this place. */
export function recordKey(queue: number, place: Place): Buffer {
  switch (place.state) {
    case WAITING:
      return waitingKey(place.topic, place.priority, place.at, place.sequence)
    case RUNNING:
      return runningKey(queue, place.at, place.sequence)
    case DEAD:
      return deadKey(place.topic, place.sequence)
    default:
      return assertNever(place.state)
  }
}
