/**
 * A topic: its name, and how many of its messages are where. Changed in the same transaction as the messages, so
 * `count` never walks them.
 *
 * Which of the waiting messages are ready is a question of the clock, and no stored number can follow a clock.
 * Each line (a topic at a priority) therefore keeps a mark: `ready` of its messages are due at or before
 * `markAt`. To count at another moment, only what lies between the mark and that moment is walked:
 *
 *      ready (a number)              walked                 delayed = waiting - ready - walked
 *   ──────────────────────┬───────────────────────────┬──────────────────────────►  dueAt
 *                      markAt                        now
 *
 * `count` moves the mark when the walk was long, so each message is walked once, not once per count.
 * Danger: a message placed or taken must be held against the mark, or the numbers drift apart; `place` and
 * `take` below are the only ways.
 */
import { PRIORITIES, type PriorityRank } from '../../core/message.ts'
import { SEAL_BYTES, seal, unseal } from './seal.ts'

export type Line = { waiting: number; ready: number; markAt: number }

export type Topic = {
  readonly queue: number
  readonly number: number
  readonly name: string
  readonly lines: readonly [Line, Line, Line]
  running: number
  dead: number
}

const NUMBER_BYTES = 6
const NUMBERS = 2 + PRIORITIES.length * 3
const HEADER_BYTES = SEAL_BYTES + NUMBERS * NUMBER_BYTES

export function newTopic(queue: number, number: number, name: string): Topic {
  return { queue, number, name, lines: [newLine(), newLine(), newLine()], running: 0, dead: 0 }
}

export function lineOf(topic: Topic, priority: PriorityRank): Line {
  return topic.lines[priority]
}

export function place(line: Line, dueAt: number): void {
  line.waiting += 1
  if (dueAt <= line.markAt) line.ready += 1
}

export function take(line: Line, dueAt: number): void {
  line.waiting -= 1
  if (dueAt <= line.markAt) line.ready -= 1
}

export function waitingIn(topic: Topic): number {
  return topic.lines[0].waiting + topic.lines[1].waiting + topic.lines[2].waiting
}

export function isEmpty(topic: Topic): boolean {
  return waitingIn(topic) + topic.running + topic.dead === 0
}

export function encodeTopic(topic: Topic): Buffer {
  const value = Buffer.allocUnsafe(HEADER_BYTES + Buffer.byteLength(topic.name))
  let offset = SEAL_BYTES
  const write = (number: number): void => {
    offset = value.writeUIntLE(number, offset, NUMBER_BYTES)
  }
  write(topic.running)
  write(topic.dead)
  for (const { waiting, ready, markAt } of topic.lines) {
    write(waiting)
    write(ready)
    write(markAt)
  }
  value.write(topic.name, HEADER_BYTES)
  return seal(value)
}

export function decodeTopic(bytes: Buffer, queue: number, number: number): Topic {
  const value = unseal(bytes, () => `the counts of topic ${number}`)
  let offset = SEAL_BYTES
  const read = (): number => {
    offset += NUMBER_BYTES
    return value.readUIntLE(offset - NUMBER_BYTES, NUMBER_BYTES)
  }
  const running = read()
  const dead = read()
  const readLine = (): Line => ({ waiting: read(), ready: read(), markAt: read() })
  const lines: [Line, Line, Line] = [readLine(), readLine(), readLine()]
  return { queue, number, name: value.toString('utf8', HEADER_BYTES), lines, running, dead }
}

function newLine(): Line {
  return { waiting: 0, ready: 0, markAt: 0 }
}
