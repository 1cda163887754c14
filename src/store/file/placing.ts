/**
 * The verbs that work by id: put, remove, reschedule, revive. Each takes the books of the transaction it runs in.
 *
 * A message is in the tree twice: its record in one of the three lists, and its place under its id. Every function
 * here leaves the two in agreement, and the topic's numbers with them.
 */
import { assertNever } from '../../core/errors.ts'
import type {
  Move,
  NewMessage,
  PutResult,
  RemoveResult,
  RescheduleResult,
  ReviveResult,
  When,
} from '../store.ts'
import { placeKey } from './keys.ts'
import type { Ledger } from './ledger.ts'
import { DEAD, RUNNING, WAITING, decodePlace, encodePlace, recordKey, type Place } from './place.ts'
import { changeRecord, newRecord, readRecord, withFailure } from './record.ts'
import { corrupt } from './seal.ts'
import type { Tree } from './tree.ts'

/** Where a verb acts: one queue, in one transaction, at one moment. */
export type Scene = { readonly ledger: Ledger; readonly queue: number; readonly now: number }

export function putOne(scene: Scene, message: NewMessage): PutResult {
  const { ledger, queue } = scene
  const key = placeKey(queue, message.id)
  const known = ledger.tree.get(key)
  if (known === undefined) {
    storeNew(scene, key, message)
    return 'stored'
  }
  if (message.ifExists === 'keep') return 'duplicate'
  const place = decodePlace(known, message.id)
  if (place.state === RUNNING) return 'running'
  discard(scene, place, message.id)
  storeNew(scene, key, message)
  return 'replaced'
}

export function removeOne(scene: Scene, id: string, from: 'waiting' | 'dead'): RemoveResult {
  const place = findPlace(scene.ledger.tree, scene.queue, id)
  if (place === undefined) return 'missing'
  if (place.state === RUNNING) return 'running'
  if (place.state !== (from === 'waiting' ? WAITING : DEAD)) return 'missing'
  discard(scene, place, id)
  scene.ledger.tree.remove(placeKey(scene.queue, id))
  return 'removed'
}

export function rescheduleOne(scene: Scene, { id, when }: Move): RescheduleResult {
  const { ledger, queue, now } = scene
  const place = findPlace(ledger.tree, queue, id)
  if (place === undefined || place.state === DEAD) return 'missing'
  if (place.state === RUNNING) return 'running'
  const record = takeRecord(scene, place, id)
  const topic = ledger.topic(queue, place.topic)
  ledger.take(topic, place.priority, place.at)
  const dueAt = momentOf(when, now)
  wait(scene, place, id, changeRecord(record, { dueAt }), dueAt)
  return 'rescheduled'
}

export function reviveOne(scene: Scene, id: string): ReviveResult {
  const { ledger, queue, now } = scene
  const place = findPlace(ledger.tree, queue, id)
  if (place === undefined || place.state !== DEAD) return 'missing'
  const record = takeRecord(scene, place, id)
  ledger.topic(queue, place.topic).dead -= 1
  const revived = changeRecord(withFailure(record, '', ''), { attempt: 0, dueAt: now, until: 0 })
  wait(scene, place, id, revived, now)
  return 'revived'
}

export function findPlace(tree: Tree, queue: number, id: string): Place | undefined {
  const value = tree.get(placeKey(queue, id))
  return value === undefined ? undefined : decodePlace(value, id)
}

/** Takes the record of a message out of the list it is in. */
export function takeRecord({ ledger, queue }: Scene, place: Place, id: string): Buffer {
  const key = recordKey(queue, place)
  const value = ledger.tree.get(key)
  if (value === undefined) throw corrupt(`message "${id}" has a place but no record`)
  ledger.tree.remove(key)
  return readRecord(value, () => `message "${id}"`)
}

/** Puts a record that is in no list into its line, due at `dueAt`. */
export function wait(scene: Scene, from: Place, id: string, record: Buffer, dueAt: number): void {
  const { ledger, queue, now } = scene
  const place: Place = { ...from, state: WAITING, at: dueAt, token: 0 }
  ledger.place(ledger.topic(queue, place.topic), place.priority, dueAt, now)
  ledger.tree.put(recordKey(queue, place), record)
  ledger.tree.put(placeKey(queue, id), encodePlace(place))
}

export function momentOf(when: When, now: number): number {
  return 'at' in when ? when.at : now + when.delayMs
}

function storeNew({ ledger, queue, now }: Scene, key: Buffer, message: NewMessage): void {
  const topic = ledger.internTopic(queue, message.topic)
  const { id, meta, body, priority } = message
  const dueAt = momentOf(message.when, now)
  const sequence = ledger.nextSequence()
  const place: Place = { state: WAITING, priority, at: dueAt, sequence, topic: topic.number, token: 0 }
  ledger.place(topic, priority, dueAt, now)
  const record = newRecord({ id, meta, body, topic: topic.number, priority, dueAt, sequence })
  ledger.tree.put(recordKey(queue, place), record)
  ledger.tree.put(key, encodePlace(place))
}

/** A waiting or dead message leaves its list and the books; its place is the caller's business. */
function discard({ ledger, queue }: Scene, place: Place, id: string): void {
  const topic = ledger.topic(queue, place.topic)
  switch (place.state) {
    case WAITING:
      ledger.take(topic, place.priority, place.at)
      break
    case DEAD:
      topic.dead -= 1
      break
    case RUNNING:
      throw corrupt(`message "${id}" cannot be discarded while it runs`)
    default:
      assertNever(place.state)
  }
  if (!ledger.tree.remove(recordKey(queue, place))) throw corrupt(`message "${id}" has a place but no record`)
}
