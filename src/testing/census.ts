/**
 * The census: every message of a store, found by paging through every state, and the proof that each id stands in
 * exactly one place and that the counts agree.
 */
import assert from 'node:assert/strict'
import { MESSAGE_STATES, type MessageState } from '../core/message.ts'
import type { Store, StoredMessage, TopicCounts } from '../store/contract/store.ts'

const PAGE = 500

export type Census = {
  readonly total: number
  readonly places: ReadonlyMap<string, MessageState>
  readonly messages: readonly StoredMessage[]
}

/** Takes the census of a store that no other process uses while nothing comes due, and asserts that it adds up. */
export async function takeCensus(store: Store): Promise<Census> {
  const places = new Map<string, MessageState>()
  const messages: StoredMessage[] = []
  for (const state of MESSAGE_STATES) {
    for await (const found of everyMessage(store, state)) {
      assert.equal(
        places.get(found.id),
        undefined,
        `${found.id} stands in ${places.get(found.id)} and in ${state}`,
      )
      assert.equal(found.state, state, `${found.id} is listed as ${state}`)
      places.set(found.id, state)
      messages.push(found)
    }
  }
  await assertCountsAgree(store, messages)
  return { total: messages.length, places, messages }
}

async function* everyMessage(store: Store, state: MessageState): AsyncGenerator<StoredMessage> {
  const limit = Math.min(PAGE, store.capabilities.batchMax)
  let cursor: string | undefined
  do {
    const page = await store.inspect({ state, limit, ...(cursor === undefined ? {} : { cursor }) })
    yield* page.items
    cursor = page.cursor
  } while (cursor !== undefined)
}

async function everyTopic(store: Store): Promise<Readonly<Record<string, TopicCounts>>> {
  const pages: [string, TopicCounts][] = []
  let cursor: string | undefined
  do {
    const limit = store.capabilities.batchMax
    const page = await store.countTopics({ limit, ...(cursor === undefined ? {} : { cursor }) })
    pages.push(...Object.entries(page.topics))
    cursor = page.cursor
  } while (cursor !== undefined)
  return Object.fromEntries(pages)
}

async function assertCountsAgree(store: Store, messages: readonly StoredMessage[]): Promise<void> {
  const { states, nextDueAt, isExact } = await store.count()
  const expected = { delayed: 0, ready: 0, running: 0, dead: 0 }
  for (const { state, successor } of messages) {
    if (state !== 'completed') expected[state] += 1
    if (successor !== undefined) expected.delayed += 1
  }
  if (isExact) assert.deepEqual({ ...states }, expected, 'the counts per state agree with the messages found')
  else assert.equal(states.delayed + states.ready, expected.delayed + expected.ready)
  assertEarliest(nextDueAt, messages, 'nextDueAt')
  const counted = await countedTopics(store)
  for (const [topic, { nextDueAt: ofTopic }] of counted)
    assertEarliest(
      ofTopic,
      messages.filter((message) => message.topic === topic),
      `nextDueAt of "${topic}"`,
    )
  const counts = counted.map(([topic, { waiting, running, dead }]) => [topic, { waiting, running, dead }])
  assert.deepEqual(Object.fromEntries(counts), expectedTopics(messages), 'the counts per topic agree')
}

/** Of those with a key, an engine may leave out which stand behind others. */
function assertEarliest(
  nextDueAt: number | undefined,
  messages: readonly StoredMessage[],
  what: string,
): void {
  const waiting = messages.filter(({ state }) => state === 'delayed' || state === 'ready')
  const least = earliestOf(waiting)
  const most = earliestOf(waiting.filter(({ key }) => key === undefined))
  const told = nextDueAt ?? Infinity
  assert.ok(
    least <= told && told <= most,
    `${what} is the earliest moment of what waits: ${told}, expected ${least} to ${most}`,
  )
}

async function countedTopics(store: Store): Promise<[topic: string, counts: TopicCounts][]> {
  return Object.entries(await everyTopic(store)).filter(
    ([, { waiting, running, dead }]) => waiting + running + dead > 0,
  )
}

/** A topic may be called "__proto__": hence maps and entries. */
function expectedTopics(messages: readonly StoredMessage[]): unknown {
  const byTopic = new Map<string, StoredMessage[]>()
  for (const message of messages) {
    const ofTopic = byTopic.get(message.topic) ?? []
    byTopic.set(message.topic, ofTopic)
    ofTopic.push(message)
  }
  const succeeding = messages.flatMap(({ successor }) => successor?.topic ?? [])
  for (const topic of succeeding) if (!byTopic.has(topic)) byTopic.set(topic, [])
  const counts = [...byTopic].map(([topic, ofTopic]): [string, TopicCounts] => {
    const running = ofTopic.filter(({ state }) => state === 'running').length
    const dead = ofTopic.filter(({ state }) => state === 'dead').length
    const waits = succeeding.filter((one) => one === topic).length
    const waiting = ofTopic.length - running - dead + waits
    return [topic, { waiting, running, dead }]
  })
  return Object.fromEntries(counts)
}

function earliestOf(messages: readonly StoredMessage[]): number {
  return messages.reduce((earliest, { dueAt }) => Math.min(earliest, dueAt), Infinity)
}
