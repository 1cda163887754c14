/**
 * The verbs around a lease: claim, extend, settle.
 *
 * A claim sweeps the front of each wanted line, moves the records to the list of those that run, and counts the
 * attempt there and then: a worker that dies never reports. The token of a lease is a number from the sequence,
 * so no two leases ever share one, whatever the clocks say.
 *
 * Cost of a claim: one sweep per wanted line that is not empty, then three writes per message.
 */
import { assertNever } from '../../core/errors.ts'
import { PRIORITIES } from '../../core/message.ts'
import type {
  ClaimDue,
  ClaimLapsed,
  ClaimReply,
  ExtendResult,
  Lease,
  LeaseRef,
  Next,
  SettleResult,
  Settlement,
} from '../store.ts'
import {
  AFTER_ALL,
  BEFORE_ALL,
  lineRange,
  parseWaitingKey,
  placeKey,
  runningKey,
  runningRange,
  untilOfKey,
  waitingKey,
} from './keys.ts'
import { firstMoment } from './ledger.ts'
import { DEAD, RUNNING, encodePlace, recordKey, type Place } from './place.ts'
import { findPlace, takeRecord, wait, type Scene } from './placing.ts'
import {
  attemptOf,
  bodyOf,
  changeRecord,
  dueAtOf,
  idOf,
  metaOf,
  priorityOf,
  readRecord,
  sequenceOf,
  topicOf,
  withFailure,
} from './record.ts'
import { corrupt } from './seal.ts'
import { waitingIn, type Topic } from './topic.ts'
import type { Tree } from './tree.ts'

export function claimDue(scene: Scene, request: ClaimDue): ClaimReply {
  const wanted = request.wants.map(({ topic, limit }) => ({
    topic: scene.ledger.topicNamed(scene.queue, topic),
    left: limit,
  }))
  const leases: Lease[] = []
  for (const priority of PRIORITIES.keys()) {
    for (const want of wanted) {
      const limit = Math.min(want.left, request.limit - leases.length)
      if (want.topic === undefined || limit <= 0) continue
      const claimed = claimLine(scene, request, want.topic, priority, limit)
      want.left -= claimed.length
      leases.push(...claimed)
    }
  }
  const topics = wanted.flatMap(({ topic }) => topic ?? [])
  return { leases, next: nextDue(scene.ledger.tree, topics, request.leadMs, scene.now) }
}

/** When it is worth asking for these topics again; also answered from a snapshot, before any claim. */
export function nextDue(tree: Tree, topics: readonly Topic[], leadMs: number, now: number): Next {
  let first: number | undefined
  for (const topic of topics) {
    if (waitingIn(topic) === 0) continue
    const moment = firstMoment(tree, topic)
    if (moment !== undefined && (first === undefined || moment < first)) first = moment
  }
  return nextAt(first === undefined ? undefined : first - leadMs, now)
}

export function claimLapsed(scene: Scene, { limit, leaseMs }: ClaimLapsed): ClaimReply {
  const { ledger, queue, now } = scene
  const leases = ledger.tree.entries(runningRange(queue, now), limit).map(({ key, value }) => {
    ledger.tree.remove(key)
    const record = readRecord(value, () => `a running message in queue ${queue}`)
    return run(scene, record, ledger.topic(queue, topicOf(record)), now + leaseMs)
  })
  return { leases, next: nextLapse(ledger.tree, queue, now) }
}

export function nextLapse(tree: Tree, queue: number, now: number): Next {
  const first = tree.firstKey(runningRange(queue, AFTER_ALL))
  return nextAt(first === undefined ? undefined : untilOfKey(first), now)
}

export function extendOne(scene: Scene, lease: LeaseRef, leaseMs: number): ExtendResult {
  const { ledger, queue, now } = scene
  const place = placeHeldBy(scene, lease)
  if (place === undefined) return 'lost'
  const until = now + leaseMs
  const record = takeRecord(scene, place, lease.id)
  ledger.tree.put(runningKey(queue, until, place.sequence), changeRecord(record, { until }))
  ledger.tree.put(placeKey(queue, lease.id), encodePlace({ ...place, at: until }))
  return 'extended'
}

export function settleOne(scene: Scene, settlement: Settlement): SettleResult {
  const place = placeHeldBy(scene, settlement)
  if (place === undefined) return 'lost'
  scene.ledger.topic(scene.queue, place.topic).running -= 1
  switch (settlement.kind) {
    case 'ack':
      complete(scene, place, settlement.id)
      break
    case 'retry': {
      const dueAt = scene.now + settlement.delayMs
      const record = withFailure(takeRecord(scene, place, settlement.id), settlement.error, '')
      wait(scene, place, settlement.id, changeRecord(record, { dueAt, until: 0 }), dueAt)
      break
    }
    case 'release': {
      const record = takeRecord(scene, place, settlement.id)
      const uncounted = changeRecord(record, { attempt: attemptOf(record) - 1, until: 0 })
      wait(scene, place, settlement.id, uncounted, dueAtOf(record))
      break
    }
    case 'dead': {
      const record = takeRecord(scene, place, settlement.id)
      bury(scene, place, settlement.id, withFailure(record, settlement.error, settlement.reason))
      break
    }
    default:
      return assertNever(settlement)
  }
  return 'settled'
}

function claimLine(
  scene: Scene,
  request: ClaimDue,
  topic: Topic,
  priority: number,
  limit: number,
): readonly Lease[] {
  const { ledger, now } = scene
  if (topic.lines[priority]?.waiting === 0) return []
  const range = lineRange(topic.number, priority, BEFORE_ALL, now + request.leadMs)
  return ledger.tree.entries(range, limit).map(({ key, value }) => {
    const record = readRecord(value, () => `a waiting message of topic "${topic.name}"`)
    checkPosition(key, record, topic)
    ledger.tree.remove(key)
    ledger.take(topic, priorityOf(record), dueAtOf(record))
    topic.running += 1
    changeRecord(record, { attempt: attemptOf(record) + 1 })
    return run(scene, record, topic, now + request.leaseMs)
  })
}

/** A flipped bit in a key is caught here: the record says where it belongs. */
function checkPosition(key: Buffer, record: Buffer, topic: Topic): void {
  const expected = waitingKey(topicOf(record), priorityOf(record), dueAtOf(record), sequenceOf(record))
  if (expected.equals(key)) return
  const { dueAt } = parseWaitingKey(key)
  throw corrupt(`message "${idOf(record)}" of topic "${topic.name}" lies at ${dueAt} in its line`)
}

/** A record that is in no list begins to run until `until`, under a token of its own. */
function run({ ledger, queue, now }: Scene, record: Buffer, topic: Topic, until: number): Lease {
  const id = idOf(record)
  const priority = priorityOf(record)
  const sequence = sequenceOf(record)
  const token = ledger.nextSequence()
  const place: Place = { state: RUNNING, priority, at: until, sequence, topic: topic.number, token }
  ledger.tree.put(recordKey(queue, place), changeRecord(record, { until }))
  ledger.tree.put(placeKey(queue, id), encodePlace(place))
  const dueAt = dueAtOf(record)
  return {
    id,
    token: String(token),
    topic: topic.name,
    body: bodyOf(record),
    meta: metaOf(record),
    priority,
    dueAt,
    attempt: attemptOf(record),
    latenessMs: now - dueAt,
  }
}

/** P4: exactly this lease, or nothing. A lapsed one still counts until somebody else has taken over. */
function placeHeldBy({ ledger, queue }: Scene, { id, token }: LeaseRef): Place | undefined {
  const place = findPlace(ledger.tree, queue, id)
  return place?.state === RUNNING && String(place.token) === token ? place : undefined
}

function complete({ ledger, queue }: Scene, place: Place, id: string): void {
  if (!ledger.tree.remove(recordKey(queue, place))) throw corrupt(`message "${id}" has a place but no record`)
  ledger.tree.remove(placeKey(queue, id))
}

function bury({ ledger, queue, now }: Scene, from: Place, id: string, record: Buffer): void {
  const place: Place = { ...from, state: DEAD, at: 0, token: 0 }
  ledger.topic(queue, place.topic).dead += 1
  ledger.tree.put(recordKey(queue, place), changeRecord(record, { until: now }))
  ledger.tree.put(placeKey(queue, id), encodePlace(place))
}

function nextAt(at: number | undefined, now: number): Next {
  if (at === undefined) return { state: 'NO_TASK' }
  return at <= now ? { state: 'EXPIRED' } : { state: 'WAITING', ms: at - now }
}
