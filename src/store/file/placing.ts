/**
 * The verbs that work by id: put, remove, reschedule, revive. Each takes the books of the transaction it runs in.
 *
 * A message is in the tree twice: its record in one of the lists, and its place under its id. Every function here
 * leaves the two in agreement, and the topic's numbers with them.
 */
import type {
  Move,
  NewMessage,
  PutResult,
  RemoveResult,
  RescheduleResult,
  ReviveResult,
  DueTime,
} from '../contract/store.ts'
import { placeKey, waitingKey } from './keys.ts'
import type { Ledger } from './ledger.ts'
import { encodePlace, locate, recordOf, type Located, type Place } from './place.ts'
import {
  changeRecord,
  dueAtOf,
  idOf,
  newRecord,
  priorityOf,
  sequenceOf,
  topicOf,
  withFailure,
} from './record.ts'

/** Where a verb acts: one queue, in one transaction, at one moment. */
export type Scene = { readonly ledger: Ledger; readonly queue: number; readonly now: number }

export function putOne(scene: Scene, message: NewMessage): PutResult {
  const { ledger, queue } = scene
  const key = placeKey(queue, message.id)
  if (ledger.tree.get(key) === undefined) {
    storeNew(scene, key, message)
    return 'stored'
  }
  if (message.ifExists === 'keep') return 'duplicate'
  const found = locate(ledger.tree, queue, message.id)
  if (found?.state === 'running') return 'running'
  if (found !== undefined) takeOut(scene, found)
  storeNew(scene, key, message)
  return 'replaced'
}

export function removeOne(scene: Scene, id: string, from: 'waiting' | 'dead'): RemoveResult {
  const found = locate(scene.ledger.tree, scene.queue, id)
  if (found?.state === 'running') return 'running'
  if (found?.state !== from) return 'missing'
  takeOut(scene, found)
  scene.ledger.tree.remove(placeKey(scene.queue, id))
  return 'removed'
}

export function rescheduleOne(scene: Scene, { id, when }: Move): RescheduleResult {
  const found = locate(scene.ledger.tree, scene.queue, id)
  if (found?.state === 'running') return 'running'
  if (found?.state !== 'waiting') return 'missing'
  takeOut(scene, found)
  beginWaiting(scene, changeRecord(recordOf(found, id), { dueAt: momentOf(when, scene.now) }))
  return 'rescheduled'
}

export function reviveOne(scene: Scene, id: string): ReviveResult {
  const { ledger, queue, now } = scene
  const found = locate(ledger.tree, queue, id)
  if (found?.state !== 'dead') return 'missing'
  takeOut(scene, found)
  beginWaiting(
    scene,
    changeRecord(withFailure(recordOf(found, id), '', ''), { attempt: 0, dueAt: now, until: 0 }),
  )
  return 'revived'
}

/** Puts a record that is in no list into its line, and its place with it. */
export function beginWaiting({ ledger, queue, now }: Scene, record: Buffer): void {
  const place: Place = {
    state: 'waiting',
    priority: priorityOf(record),
    dueAt: dueAtOf(record),
    sequence: sequenceOf(record),
    topic: topicOf(record),
  }
  ledger.place(ledger.topic(queue, place.topic), place.priority, place.dueAt, now)
  ledger.tree.put(waitingKey(place.topic, place.priority, place.dueAt, place.sequence), record)
  ledger.tree.put(placeKey(queue, idOf(record)), encodePlace(place))
}

function storeNew({ ledger, queue, now }: Scene, key: Buffer, message: NewMessage): void {
  const { id, meta, body, priority } = message
  const topic = ledger.internTopic(queue, message.topic)
  const dueAt = momentOf(message.when, now)
  const sequence = ledger.nextSequence()
  ledger.place(topic, priority, dueAt, now)
  const record = newRecord({ id, meta, body, topic: topic.number, priority, dueAt, sequence })
  ledger.tree.put(waitingKey(topic.number, priority, dueAt, sequence), record)
  ledger.tree.put(key, encodePlace({ state: 'waiting', priority, dueAt, sequence, topic: topic.number }))
}

/** A waiting or dead message leaves its list and the books; its place is the caller's business. */
function takeOut({ ledger, queue }: Scene, { state, place, key }: Located): void {
  const topic = ledger.topic(queue, place.topic)
  if (state === 'dead') topic.dead -= 1
  else ledger.take(topic, place.priority, place.dueAt)
  ledger.tree.remove(key)
}

function momentOf(when: DueTime, now: number): number {
  return 'at' in when ? when.at : now + when.delayMs
}
