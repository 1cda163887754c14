/**
 * The keys. One LMDB tree holds everything; the first byte says what a key is, the rest is made so that the
 * order of the bytes is the order in which we read:
 *
 *   m <name>                               what belongs to the whole directory: the format, the last sequence
 *   q <queue name>                         -> queue number
 *   n <queue> <topic name>                 -> topic number
 *   t <queue> <topic>                      -> the topic's name and how many of its messages are where
 *   i <queue> <id>                         -> the place of a message: where to look for its record
 *   d <topic> <priority> <dueAt> <seq>     a message that waits     first in the line = first in the tree
 *   l <queue> <seq>                        a message that runs
 *   e <queue> <until> <seq>                when its lease ends      first to lapse = first in the tree
 *   x <topic> <seq>                        a dead message
 *
 * Numbers are big-endian so that bytes sort like numbers; 6 bytes hold every moment until the year 10889.
 * Topic numbers are unique in the directory, so a waiting message's key needs no queue.
 *
 * A message is one record that moves from d to l to d or x: a line is read in one sweep, bodies included. All but
 * the ids are written where their neighbours are written, in the order of time; ids may be random, and then each
 * touches a page of its own. So a claim leaves the place alone (a message that is not where its place says
 * is one that runs), and an id costs two visits in its life: one when it comes and one when it goes.
 */
const NUMBER_BYTES = 6
const QUEUE_BYTES = 4
/** The largest number that fits: an end for ranges. */
const NUMBER_MAX = 2 ** 48 - 1

const META = 0x6d
const QUEUE = 0x71
const TOPIC_NAME = 0x6e
const TOPIC = 0x74
const PLACE = 0x69
const WAITING = 0x64
const RUNNING = 0x6c
const LEASE_END = 0x65
const DEAD = 0x78

export type Range = { readonly start: Buffer; readonly end: Buffer }

export type WaitingKey = {
  readonly topic: number
  readonly priority: number
  readonly dueAt: number
  readonly sequence: number
}

export function metaKey(name: string): Buffer {
  return Buffer.from(`${String.fromCharCode(META)}${name}`)
}

export function queueKey(name: string): Buffer {
  return Buffer.from(`${String.fromCharCode(QUEUE)}${name}`)
}

export function topicNameKey(queue: number, name: string): Buffer {
  return textKey(TOPIC_NAME, queue, name)
}

export function placeKey(queue: number, id: string): Buffer {
  return textKey(PLACE, queue, id)
}

/** All ids of a queue: no id begins with the byte 0xff, which UTF-8 does not have. */
export function placesRange(queue: number): Range {
  const start = Buffer.from([PLACE, 0, 0, 0, 0])
  start.writeUInt32BE(queue, 1)
  return { start, end: Buffer.concat([start, Buffer.of(0xff)]) }
}

export function topicKey(queue: number, topic: number): Buffer {
  const key = Buffer.allocUnsafe(1 + QUEUE_BYTES + NUMBER_BYTES)
  key[0] = TOPIC
  key.writeUInt32BE(queue, 1)
  key.writeUIntBE(topic, 5, NUMBER_BYTES)
  return key
}

export function topicOfKey(key: Buffer): number {
  return key.readUIntBE(5, NUMBER_BYTES)
}

export function topicsRange(queue: number): Range {
  return { start: topicKey(queue, 0), end: topicKey(queue, NUMBER_MAX) }
}

const WAITING_BYTES = 1 + NUMBER_BYTES + 1 + NUMBER_BYTES + NUMBER_BYTES

export function waitingKey(topic: number, priority: number, dueAt: number, sequence: number): Buffer {
  const key = Buffer.allocUnsafe(WAITING_BYTES)
  key[0] = WAITING
  key.writeUIntBE(topic, 1, NUMBER_BYTES)
  key[7] = priority
  key.writeUIntBE(dueAt, 8, NUMBER_BYTES)
  key.writeUIntBE(sequence, 14, NUMBER_BYTES)
  return key
}

export function parseWaitingKey(key: Buffer): WaitingKey {
  return {
    topic: key.readUIntBE(1, NUMBER_BYTES),
    priority: key[7] ?? 0,
    dueAt: key.readUIntBE(8, NUMBER_BYTES),
    sequence: key.readUIntBE(14, NUMBER_BYTES),
  }
}

export function isWaitingKey(key: Buffer): boolean {
  return key.length === WAITING_BYTES && key[0] === WAITING
}

/** One line: what waits for a topic at a priority and is due after `after`, up to and including `until`. */
export function lineRange(topic: number, priority: number, after: number, until: number): Range {
  return {
    start: waitingKey(topic, priority, after + 1, 0),
    end: waitingKey(topic, priority, Math.min(until + 1, NUMBER_MAX), 0),
  }
}

export const BEFORE_ALL = -1
export const AFTER_ALL = NUMBER_MAX - 1

const RUNNING_BYTES = 1 + QUEUE_BYTES + NUMBER_BYTES

export function runningKey(queue: number, sequence: number): Buffer {
  const key = Buffer.allocUnsafe(RUNNING_BYTES)
  key[0] = RUNNING
  key.writeUInt32BE(queue, 1)
  key.writeUIntBE(sequence, 5, NUMBER_BYTES)
  return key
}

export function isRunningKey(key: Buffer): boolean {
  return key.length === RUNNING_BYTES && key[0] === RUNNING
}

/** What runs in a queue and was produced after `sequence`. */
export function runningRange(queue: number, sequence: number): Range {
  return { start: runningKey(queue, sequence + 1), end: runningKey(queue, NUMBER_MAX) }
}

export function leaseEndKey(queue: number, until: number, sequence: number): Buffer {
  const key = Buffer.allocUnsafe(1 + QUEUE_BYTES + NUMBER_BYTES + NUMBER_BYTES)
  key[0] = LEASE_END
  key.writeUInt32BE(queue, 1)
  key.writeUIntBE(until, 5, NUMBER_BYTES)
  key.writeUIntBE(sequence, 11, NUMBER_BYTES)
  return key
}

export function untilOfKey(key: Buffer): number {
  return key.readUIntBE(5, NUMBER_BYTES)
}

export function sequenceOfLeaseEnd(key: Buffer): number {
  return key.readUIntBE(11, NUMBER_BYTES)
}

/** The leases of a queue that end by `until`. */
export function leaseEndRange(queue: number, until: number): Range {
  return { start: leaseEndKey(queue, 0, 0), end: leaseEndKey(queue, Math.min(until + 1, NUMBER_MAX), 0) }
}

const DEAD_BYTES = 1 + NUMBER_BYTES + NUMBER_BYTES

export function deadKey(topic: number, sequence: number): Buffer {
  const key = Buffer.allocUnsafe(DEAD_BYTES)
  key[0] = DEAD
  key.writeUIntBE(topic, 1, NUMBER_BYTES)
  key.writeUIntBE(sequence, 7, NUMBER_BYTES)
  return key
}

export function isDeadKey(key: Buffer): boolean {
  return key.length === DEAD_BYTES && key[0] === DEAD
}

export function deadRange(topic: number): Range {
  return { start: deadKey(topic, 0), end: deadKey(topic, NUMBER_MAX) }
}

function textKey(kind: number, queue: number, text: string): Buffer {
  // Names have at most 200 bytes of UTF-8, so three bytes per character of a short text is room enough.
  const key = Buffer.allocUnsafe(1 + QUEUE_BYTES + text.length * 3)
  key[0] = kind
  key.writeUInt32BE(queue, 1)
  const bytes = key.write(text, 5)
  return key.subarray(0, 5 + bytes)
}
