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

/** Takes the census of a store that no other process uses, and asserts that it adds up. */
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
  const { states, nextDueAt } = await store.count()
  const topics = await everyTopic(store)
  const expected = { delayed: 0, ready: 0, running: 0, dead: 0 }
  // A map, because a topic may be called "__proto__".
  const expectedTopics = new Map<string, { waiting: number; running: number; dead: number }>()
  for (const { topic, state } of messages) {
    expected[state] += 1
    const counts = expectedTopics.get(topic) ?? { waiting: 0, running: 0, dead: 0 }
    expectedTopics.set(topic, counts)
    counts[state === 'delayed' || state === 'ready' ? 'waiting' : state] += 1
  }
  assert.deepEqual({ ...states }, expected, 'the counts per state agree with the messages found')
  const populated = Object.entries(topics).filter(
    ([, { waiting, running, dead }]) => waiting + running + dead > 0,
  )
  assert.deepEqual(
    Object.fromEntries(populated),
    Object.fromEntries(expectedTopics),
    'the counts per topic agree',
  )
  const waiting = messages.filter(({ state }) => state === 'delayed' || state === 'ready')
  const earliest = waiting.length === 0 ? undefined : Math.min(...waiting.map(({ dueAt }) => dueAt))
  assert.equal(nextDueAt, earliest, 'nextDueAt is the earliest moment of what waits')
}
