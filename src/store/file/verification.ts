/**
 * Every message against everything that is known about it. The checks on the way of a verb see only what that verb
 * touches; this walk sees the rest: an id that leads nowhere, a message that no id leads to, a count that is off.
 *
 *   record ── seal, key ──► place under its id ──► back to the record      running: ──► the end of its lease
 *   counts ──► as many keys in every list
 *
 * It walks in slices, each in a snapshot of its own with a turn of the event loop in between, so others may go on
 * working. Cost: about 5 µs a message.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { PRIORITIES } from '../../core/message.ts'
import { PunctualError } from '../../core/errors.ts'
import { allTopics, type View } from './inspection.ts'
import {
  AFTER_ALL,
  BEFORE_ALL,
  deadRange,
  leaseEndKey,
  leaseEndRange,
  lineRange,
  placesRange,
  runningRange,
  type Range,
} from './keys.ts'
import { locate } from './place.ts'
import { idOf, keyOf, readRecord, sequenceOf, untilOf, type RecordState } from './record.ts'
import { waitingIn, type Topic } from './topic.ts'
import type { Entry } from './tree.ts'

const SLICE = 500

export type Verification = {
  readonly checked: number
  /** False when there were more messages than `max`. */
  readonly isComplete: boolean
  readonly problems: readonly string[]
}

/** What else goes wrong while reading a damaged tree is a finding too: `explain` puts it into words. */
export async function verify(
  look: () => View,
  max: number,
  explain: (error: unknown) => Promise<PunctualError>,
): Promise<Verification> {
  const problems: string[] = []
  let checked = 0
  try {
    const topics = allTopics(look())
    const total = topics.reduce((sum, topic) => sum + messagesIn(topic), 0)
    if (total <= max) problems.push(...miscounts(look()))
    for (const { state, range } of listsOf(topics, look().queue)) {
      let start: Buffer | undefined = range.start
      while (start !== undefined && checked < max) {
        const slice = checkSlice(look(), state, { start, end: range.end })
        problems.push(...slice.problems)
        checked += slice.size
        start = slice.next
        await nextTurn()
      }
    }
    return { checked, isComplete: total <= max, problems }
  } catch (error) {
    return { checked, isComplete: false, problems: [...problems, (await explain(error)).message] }
  }
}

type List = { readonly state: RecordState; readonly range: Range }

function listsOf(topics: readonly Topic[], queue: number): List[] {
  const lists: List[] = [{ state: 'running', range: runningRange(queue, 0) }]
  for (const { number } of topics) {
    for (const priority of PRIORITIES.keys()) {
      lists.push({ state: 'waiting', range: lineRange(number, priority, BEFORE_ALL, AFTER_ALL) })
    }
    lists.push({ state: 'dead', range: deadRange(number) })
  }
  return lists
}

/** Counts and lists, in one snapshot. */
function miscounts(view: View): string[] {
  const { tree, queue } = view
  const problems: string[] = []
  const compare = (what: string, expected: number, range: Range): void => {
    const found = tree.count(range, Infinity)
    if (found !== expected) problems.push(`${what}: ${expected} counted, ${found} found`)
  }
  const topics = allTopics(view)
  for (const { name, number, lines, dead } of topics) {
    for (const [priority, { waiting }] of lines.entries()) {
      const range = lineRange(number, priority, BEFORE_ALL, AFTER_ALL)
      compare(`waiting in topic "${name}" at priority ${PRIORITIES[priority]}`, waiting, range)
    }
    compare(`dead in topic "${name}"`, dead, deadRange(number))
  }
  const running = topics.reduce((sum, topic) => sum + topic.running, 0)
  compare('running', running, runningRange(queue, 0))
  compare('ends of leases', running, leaseEndRange(queue, AFTER_ALL))
  const total = topics.reduce((sum, topic) => sum + messagesIn(topic), 0)
  compare('ids', total, placesRange(queue))
  return problems
}

type Slice = {
  readonly size: number
  readonly problems: readonly string[]
  /** Where the next one begins, if this was not the last. */
  readonly next: Buffer | undefined
}

function checkSlice(view: View, state: RecordState, range: Range): Slice {
  const entries = view.tree.entries(range, SLICE)
  const problems = entries.flatMap((entry) => problemWith(view, state, entry) ?? [])
  const last = entries.length < SLICE ? undefined : entries.at(-1)
  const next = last === undefined ? undefined : Buffer.concat([last.key, Buffer.of(0)])
  return { size: entries.length, problems, next }
}

function problemWith({ tree, queue }: View, state: RecordState, { key, value }: Entry): string | undefined {
  try {
    const record = readRecord(value, () => `a ${state} message`)
    const id = idOf(record)
    if (!keyOf(queue, record, state).equals(key)) return `message "${id}" lies where it does not belong`
    // A damaged page can show a key to a walk and hide it from a search.
    if (tree.get(key) === undefined) return `message "${id}" is listed but cannot be found`
    const found = locate(tree, queue, id)
    if (found === undefined) return `message "${id}" is not known by its id`
    if (!found.key.equals(key)) return `message "${id}" is known by its id as another one`
    if (
      state === 'running' &&
      tree.get(leaseEndKey(queue, untilOf(record), sequenceOf(record))) === undefined
    ) {
      return `running message "${id}" has no end of its lease`
    }
    return undefined
  } catch (error) {
    if (error instanceof PunctualError) return error.message
    throw error
  }
}

function messagesIn(topic: Topic): number {
  return waitingIn(topic) + topic.running + topic.dead
}
