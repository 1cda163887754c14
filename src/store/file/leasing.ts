/**
 * The verbs around a lease: claim, extend, settle.
 *
 * A claim sweeps the front of each wanted line, moves the records to the list of those that run, and counts the
 * attempt there and then: a worker that dies never reports. The token of a lease names the message's sequence,
 * which is where its record lies, and a number from the sequence, which no two leases ever share, whatever the
 * clocks say. So a settlement goes straight to the record.
 *
 * Cost of a claim: one sweep per wanted line that is not empty, then three writes per message; an ack deletes
 * three keys.
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
} from '../contract/store.ts'
import {
  AFTER_ALL,
  BEFORE_ALL,
  deadKey,
  leaseEndKey,
  leaseEndRange,
  lineRange,
  placeKey,
  runningKey,
  sequenceOfLeaseEnd,
  untilOfKey,
} from './keys.ts'
import { firstMoment } from './ledger.ts'
import { encodePlace } from './place.ts'
import { beginWaiting, type Scene } from './placing.ts'
import {
  attemptOf,
  bodyOf,
  changeRecord,
  checkKey,
  dueAtOf,
  idOf,
  keyOf,
  metaOf,
  priorityOf,
  readRecord,
  sequenceOf,
  tokenOf,
  topicOf,
  untilOf,
  withFailure,
} from './record.ts'
import { corrupt } from './seal.ts'
import { waitingIn, type Topic } from './topic.ts'
import type { Tree } from './tree.ts'

/** The key of a lease's end says it all; LMDB wants a value. */
const NOTHING = Buffer.of(0)

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
  const leases = ledger.tree.keys(leaseEndRange(queue, now), limit).map((key) => {
    const record = runningRecord(ledger.tree, queue, sequenceOfLeaseEnd(key))
    if (record === undefined || untilOf(record) !== untilOfKey(key)) {
      throw corrupt(`a lease that ended at ${untilOfKey(key)} has no message`)
    }
    ledger.tree.remove(key)
    return run(scene, record, ledger.topic(queue, topicOf(record)), now + leaseMs)
  })
  return { leases, next: nextLapse(ledger.tree, queue, now) }
}

export function nextLapse(tree: Tree, queue: number, now: number): Next {
  const first = tree.firstKey(leaseEndRange(queue, AFTER_ALL))
  return nextAt(first === undefined ? undefined : untilOfKey(first), now)
}

export function extendOne(scene: Scene, lease: LeaseRef, leaseMs: number): ExtendResult {
  const { ledger, queue, now } = scene
  const record = recordHeldBy(scene, lease)
  if (record === undefined) return 'lost'
  const sequence = sequenceOf(record)
  const until = now + leaseMs
  removeLeaseEnd(scene, record)
  ledger.tree.put(leaseEndKey(queue, until, sequence), NOTHING)
  ledger.tree.put(runningKey(queue, sequence), changeRecord(record, { until }))
  return 'extended'
}

export function settleOne(scene: Scene, settlement: Settlement): SettleResult {
  const record = recordHeldBy(scene, settlement)
  if (record === undefined) return 'lost'
  stopRunning(scene, record)
  switch (settlement.kind) {
    case 'ack':
      scene.ledger.tree.remove(placeKey(scene.queue, settlement.id))
      break
    case 'retry': {
      const dueAt = scene.now + settlement.delayMs
      beginWaiting(scene, changeRecord(withFailure(record, settlement.error, ''), { dueAt, until: 0 }))
      break
    }
    case 'lapse':
      beginWaiting(scene, changeRecord(withFailure(record, settlement.error, ''), { until: 0 }))
      break
    case 'release':
      beginWaiting(scene, changeRecord(record, { attempt: attemptOf(record) - 1, until: 0 }))
      break
    case 'dead':
      bury(scene, withFailure(record, settlement.error, settlement.reason))
      break
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
    checkKey(key, keyOf(scene.queue, record, 'waiting'), record)
    ledger.tree.remove(key)
    ledger.take(topic, priorityOf(record), dueAtOf(record))
    topic.running += 1
    changeRecord(record, { attempt: attemptOf(record) + 1 })
    return run(scene, record, topic, now + request.leaseMs)
  })
}

/** A record begins to run, or to run again, until `until`, under a token of its own. */
function run({ ledger, queue, now }: Scene, record: Buffer, topic: Topic, until: number): Lease {
  const sequence = sequenceOf(record)
  const token = ledger.nextSequence()
  ledger.tree.put(runningKey(queue, sequence), changeRecord(record, { until, token }))
  ledger.tree.put(leaseEndKey(queue, until, sequence), NOTHING)
  const dueAt = dueAtOf(record)
  return {
    id: idOf(record),
    token: `${sequence}.${token}`,
    topic: topic.name,
    body: bodyOf(record),
    meta: metaOf(record),
    priority: priorityOf(record),
    dueAt,
    firstDueAt: dueAt,
    lapses: 0,
    attempt: attemptOf(record),
    latenessMs: now - dueAt,
  }
}

/** P4: exactly this lease, or nothing. A lapsed one still counts until somebody else has taken over. */
function recordHeldBy({ ledger, queue }: Scene, { id, token }: LeaseRef): Buffer | undefined {
  const [sequence = NaN, number = NaN] = token.split('.').map(Number)
  if (!Number.isSafeInteger(sequence) || sequence < 0) return undefined
  const record = runningRecord(ledger.tree, queue, sequence)
  return record !== undefined && tokenOf(record) === number && idOf(record) === id ? record : undefined
}

function runningRecord(tree: Tree, queue: number, sequence: number): Buffer | undefined {
  const value = tree.get(runningKey(queue, sequence))
  return value === undefined ? undefined : readRecord(value, () => `running message number ${sequence}`)
}

function stopRunning(scene: Scene, record: Buffer): void {
  const { ledger, queue } = scene
  ledger.topic(queue, topicOf(record)).running -= 1
  removeLeaseEnd(scene, record)
  ledger.tree.remove(runningKey(queue, sequenceOf(record)))
}

function removeLeaseEnd({ ledger, queue }: Scene, record: Buffer): void {
  if (ledger.tree.remove(leaseEndKey(queue, untilOf(record), sequenceOf(record)))) return
  throw corrupt(`running message "${idOf(record)}" has no end of its lease`)
}

function bury({ ledger, queue, now }: Scene, record: Buffer): void {
  const [topic, sequence] = [topicOf(record), sequenceOf(record)]
  ledger.topic(queue, topic).dead += 1
  ledger.tree.put(deadKey(topic, sequence), changeRecord(record, { until: now }))
  const place = {
    state: 'dead',
    priority: priorityOf(record),
    dueAt: dueAtOf(record),
    sequence,
    topic,
  } as const
  ledger.tree.put(placeKey(queue, idOf(record)), encodePlace(place))
}

function nextAt(at: number | undefined, now: number): Next {
  if (at === undefined) return { state: 'NO_TASK' }
  return at <= now ? { state: 'EXPIRED' } : { state: 'WAITING', ms: at - now }
}
