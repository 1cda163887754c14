/** Messages of our own (`core/control`): only those who name them meet them, and they can be seized. */
import assert from 'node:assert/strict'
import { CONTROL_MARK, SCHEDULES_TOPIC } from '../../core/control.ts'
import { MESSAGE_STATES } from '../../core/message.ts'
import type { NewMessage, Store } from '../../store/contract/store.ts'
import { takeCensus } from '../census.ts'
import {
  LEASE_MS,
  ack,
  again,
  claim,
  claimDue,
  claimLapsed,
  claimOne,
  dead,
  find,
  idsOf,
  message,
  only,
  placeOf,
  release,
  stored,
} from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

const TOPICS = [SCHEDULES_TOPIC]
const ID = `${CONTROL_MARK}schedule:daily`

function control(fields: Partial<NewMessage> = {}, id = ID): NewMessage {
  return message(id, { topic: SCHEDULES_TOPIC, ...fields })
}

async function listed(store: Store, topic?: string): Promise<string[]> {
  const found: string[] = []
  for (const state of MESSAGE_STATES) {
    const query = { state, limit: 100, ...(topic === undefined ? {} : { topic }) }
    found.push(...idsOf((await store.inspect(query)).items))
  }
  return found.toSorted()
}

/** Three of ours, one in each place, beside as many of a user's. */
async function populate(store: Store): Promise<void> {
  const ids = ['dead', 'running', 'waiting']
  await store.put(ids.map((id) => message(id)))
  await store.put(ids.map((id) => control({}, `${CONTROL_MARK}${id}`)))
  for (const topics of [undefined, TOPICS]) {
    const [first] = await claimDue(store, 2, topics)
    assert.ok(first !== undefined)
    await store.settle([dead(first)])
  }
}

export const controlTests: readonly ConformanceTest[] = [
  test('P10: lists, counts and forecasts leave out topics of our own unless they are named', async ({
    store,
  }) => {
    await populate(store)
    assert.deepEqual(await listed(store), ['dead', 'running', 'waiting'])
    const ours = ['dead', 'running', 'waiting'].map((id) => CONTROL_MARK + id)
    assert.deepEqual(await listed(store, SCHEDULES_TOPIC), ours)
    const { states } = await store.count()
    assert.deepEqual({ ...states }, { delayed: 0, ready: 1, running: 1, dead: 1 })
    const { topics } = await store.countTopics({ limit: 100 })
    assert.deepEqual(Object.keys(topics), ['order.close'])
    const named = (await store.countTopics({ topics: TOPICS })).topics[SCHEDULES_TOPIC]
    assert.deepEqual([named?.waiting, named?.running, named?.dead], [1, 1, 1])
    const byId = await store.inspect({ ids: ours })
    assert.equal(byId.items.length, 3, 'an id names its message')
    await takeCensus(store)
  }),

  test('P10: the next moment and the bars of a forecast are those of users', async ({ store, advance }) => {
    await store.put([control({ when: { delayMs: 1_000 } }), message('b', { when: { delayMs: 5_000 } })])
    const [mine, ours] = [await stored(store, 'b'), await stored(store, ID)]
    assert.equal((await store.count()).nextDueAt, mine.dueAt)
    const edges = [ours.dueAt - 500, ours.dueAt + 500, mine.dueAt + 1]
    assert.deepEqual((await store.forecast({ edges })).counts, [0, 1])
    assert.deepEqual((await store.forecast({ edges, topic: SCHEDULES_TOPIC })).counts, [1, 0])
    await advance(1_000)
    const { next } = await claim(store, {})
    assert.notEqual(next.state, 'EXPIRED', 'a worker that does not want them is not told of them')
    assert.equal((await claimOne(store, TOPICS)).id, ID)
    assert.equal((await store.count()).nextDueAt, mine.dueAt)
    await takeCensus(store)
  }),

  test('P3: seize takes a message away from the worker that runs it', async ({ store, advance }) => {
    await store.put([control({ body: 'old' })])
    const held = await claimOne(store, TOPICS)
    const when = { delayMs: 1_000 }
    assert.deepEqual(await store.put([control({ body: 'new', ifExists: 'seize', when })]), ['replaced'])
    assert.deepEqual(await store.extend([held], LEASE_MS), ['lost'])
    const followUps = [message('child')]
    const late = [again(held, { delayMs: 0 }, { followUps }), ack(held), release(held)]
    assert.deepEqual(await store.settle(late), ['lost', 'lost', 'lost'])
    assert.equal(await placeOf(store, 'child'), 'gone')
    const found = await stored(store, ID)
    assert.deepEqual([found.state, found.body, found.attempt, found.owner], ['delayed', 'new', 0, ''])
    await advance(LEASE_MS)
    assert.deepEqual(await claimLapsed(store), [], 'no lease of before is left')
    const next = await claimOne(store, TOPICS)
    assert.deepEqual([next.body, next.attempt], ['new', 1])
    assert.deepEqual(await store.settle([ack(held), ack(next)]), ['lost', 'settled'])
    const { topics } = await store.countTopics({ topics: TOPICS })
    assert.equal(topics[SCHEDULES_TOPIC]?.running ?? 0, 0)
    await takeCensus(store)
  }),

  test('P5: seize is replace for one that waits or is dead, and put where there is none', async ({
    store,
  }) => {
    assert.deepEqual(await store.put([control({ ifExists: 'seize' })]), ['stored'])
    assert.deepEqual(await store.put([control({ ifExists: 'seize', body: 'two' })]), ['replaced'])
    await store.settle([dead(await claimOne(store, TOPICS))])
    assert.deepEqual(await store.put([control({ ifExists: 'seize', body: 'three' })]), ['replaced'])
    const lease = await claimOne(store, TOPICS)
    assert.equal(lease.body, 'three')
    const twice = [control({ ifExists: 'seize', body: 'a' }), control({ ifExists: 'seize', body: 'b' })]
    assert.deepEqual(await store.put(twice), ['replaced', 'replaced'])
    assert.equal(only(await claimDue(store, 5, TOPICS)).body, 'b')
    assert.deepEqual(await store.remove([ID], 'waiting'), ['running'])
    assert.notEqual(await find(store, ID), undefined)
    await takeCensus(store)
  }),

  test('P5: a seizure may expect a body, and changes nothing where it finds another', async ({ store }) => {
    const seizure = (body: string, ifBody: string) => control({ ifExists: 'seize', body, ifBody })
    assert.deepEqual(await store.put([seizure('two', 'one')]), ['duplicate'])
    await store.put([control({ body: 'one' })])
    const lease = await claimOne(store, TOPICS)
    assert.deepEqual(await store.put([seizure('two', 'on'), seizure('two', '')]), ['duplicate', 'duplicate'])
    assert.deepEqual(await store.extend([lease], LEASE_MS), ['extended'])
    const large = 'x'.repeat(5_000)
    const steps = [seizure(large, 'one'), seizure('three', 'one'), seizure('four', large)]
    assert.deepEqual(await store.put(steps), ['replaced', 'duplicate', 'replaced'])
    assert.equal((await stored(store, ID)).body, 'four')
    assert.deepEqual(await store.settle([ack(lease)]), ['lost'])
    const next = await claimOne(store, TOPICS)
    const content = { body: 'five', meta: '{"ttlMs":1}' }
    await store.settle([again(next, { delayMs: 0 }, { content })])
    assert.deepEqual(await store.put([seizure('six', 'four'), seizure('six', 'five')]), [
      'duplicate',
      'replaced',
    ])
    await takeCensus(store)
  }),

  test('P8: a lease of our own that lapsed is taken over as any other', async ({ store, advance }) => {
    await store.put([control()])
    await claimOne(store, TOPICS)
    await advance(LEASE_MS)
    const taken = only(await claimLapsed(store))
    assert.deepEqual([taken.id, taken.topic], [ID, SCHEDULES_TOPIC])
    const content = { body: 'next', meta: '' }
    assert.deepEqual(await store.settle([again(taken, { delayMs: 0 }, { content })]), ['settled'])
    assert.equal((await claimOne(store, TOPICS)).body, 'next')
  }),
]
