/** Pauses (P14): what a claim hands out meanwhile, when it says to ask again, and what people see of all controls. */
import assert from 'node:assert/strict'
import {
  assertNoTask,
  assertWaits,
  controlTest,
  limit,
  limitTest,
  pause,
  putMany,
  rate,
  resume,
} from './control-stand.ts'
import {
  LEASE_MS,
  TOPIC,
  ack,
  claim,
  claimDue,
  claimLapsed,
  idsOf,
  lapse,
  message,
  only,
  placeOf,
} from './stand.ts'
import type { ConformanceTest } from './test.ts'

export const pauseTests: readonly ConformanceTest[] = [
  controlTest('nothing of a paused topic is handed out, other topics are', async ({ store }) => {
    await store.put([message('a'), message('b', { topic: 'other' })])
    await store.control(pause())
    assert.deepEqual(idsOf(await claimDue(store, 10, [TOPIC, 'other'])), ['b'])
    assertNoTask(await claim(store, { topics: [TOPIC, 'other'] }))
    await store.control(resume())
    assert.deepEqual(idsOf(await claimDue(store)), ['a'])
  }),

  controlTest('a pause of the whole queue stops every topic but our own', async ({ store }) => {
    const own = '\u0001own'
    await store.put([message('a'), message('b', { topic: 'other' }), message('c', { topic: own })])
    await store.control(pause(''))
    assert.deepEqual(idsOf(await claimDue(store, 10, [TOPIC, 'other', own])), ['c'])
    await store.control(pause())
    await store.control(resume(''))
    assert.deepEqual(idsOf(await claimDue(store, 10, [TOPIC, 'other', own])), ['b'])
  }),

  controlTest('a pause ends by itself, and a claim says when', async ({ store, advance }) => {
    await store.put([message('a')])
    await store.control({ kind: 'pause', topic: TOPIC, until: { delayMs: 5_000 } })
    await advance(1_000)
    const early = await claim(store, {})
    assertWaits(early, 4_000)
    // Nothing is handed out ahead of it: who asks later starts later.
    assert.equal(early.next.state === 'WAITING' && early.next.isSharp, true)
    await advance(4_001)
    assert.deepEqual(idsOf(await claimDue(store)), ['a'])
    assert.deepEqual((await store.controls()).controls, [])
  }),

  controlTest('delays go on elapsing while a topic is paused', async ({ store, advance }) => {
    await store.put([message('a', { when: { delayMs: 1_000 } })])
    await store.control(pause())
    await advance(3_000)
    assert.equal(await placeOf(store, 'a'), 'ready')
    await store.control(resume())
    assert.ok(Math.abs(only(await claimDue(store)).latenessMs - 2_000) < 5)
  }),

  controlTest('leases and settlements go on while a topic is paused', async ({ store, advance }) => {
    await putMany(store, 3)
    const [a, b] = await claimDue(store, 2)
    assert.ok(a !== undefined && b !== undefined)
    await store.control(pause())
    assert.deepEqual(await store.extend([a], LEASE_MS), ['extended'])
    assert.deepEqual(await store.settle([ack(a)]), ['settled'])
    await advance(LEASE_MS + 1)
    const lapsed = only(await claimLapsed(store))
    assert.deepEqual(await store.settle([lapse(lapsed)]), ['settled'])
    assertNoTask(await claim(store, {}))
    await store.control(resume())
    assert.equal((await claimDue(store)).length, 2)
  }),

  limitTest('among many topics each is held back by its own', async ({ store }) => {
    const topics = Array.from({ length: 70 }, (_, i) => `t${i}`)
    await store.put(
      topics.flatMap((topic) => [message(`${topic}.0`, { topic }), message(`${topic}.1`, { topic })]),
    )
    for (const topic of topics.slice(0, 20)) await store.control(pause(topic))
    for (const topic of topics.slice(20, 40)) await store.control(limit({ concurrency: 1 }, topic))
    const wants = topics.slice(0, store.capabilities.wantsMax)
    const reply = await claim(store, { topics: wants, limit: Math.min(200, store.capabilities.batchMax) })
    const got = (topic: string): number => reply.leases.filter((lease) => lease.topic === topic).length
    const expected = wants.map((_, i) => (i < 20 ? 0 : i < 40 ? 1 : 2))
    assert.deepEqual(wants.map(got), expected)
    assert.deepEqual(reply.limited?.toSorted(), wants.slice(20, 40).toSorted())
    assert.deepEqual(reply.next, { state: 'NO_TASK' })
  }),

  limitTest(
    'among very many topics few are held back, each by its own and all by the queue’s',
    async ({ store }) => {
      const size = Math.min(150, store.capabilities.wantsMax, Math.floor(store.capabilities.batchMax / 2))
      const topics = Array.from({ length: size }, (_, i) => `t${i}`)
      await store.put(
        topics.flatMap((topic) => [message(`${topic}.0`, { topic }), message(`${topic}.1`, { topic })]),
      )
      await store.control(pause('nothing wants it'))
      await store.control(pause('t1'))
      await store.control(limit(rate(60_000, 1), 't3'))
      const ask = () => claim(store, { topics, limit: size * 2 })
      await store.control(pause(''))
      assertNoTask(await ask())
      await store.control(resume(''))
      const { leases, limited } = await ask()
      const got = (topic: string): number => leases.filter((lease) => lease.topic === topic).length
      assert.deepEqual([leases.length, got('t1'), got('t3')], [size * 2 - 3, 0, 1])
      assert.deepEqual(limited, ['t3'])
      assert.deepEqual((await ask()).leases, [], 'the rate is charged')
    },
  ),

  limitTest('what holds is seen in every process', async ({ store, another, advance }) => {
    const other = (await another?.()) ?? store
    await store.control(pause('a'))
    await store.control({ kind: 'pause', topic: '', until: { delayMs: 60_000 } })
    await store.control(limit({ ...rate(600, 7), concurrency: 3 }, 'b'))
    await store.control({ kind: 'resume', topic: 'c', over: { intervalMs: 50, burst: 2, ms: 30_000 } })
    const { now, controls } = await other.controls()
    const of = (topic: string) => controls.find((control) => control.topic === topic)
    assert.deepEqual(
      controls.map(({ topic }) => topic),
      ['', 'a', 'b', 'c'],
    )
    assert.ok((of('a')?.pausedUntil ?? 0) > now + 1e12)
    assert.ok(Math.abs((of('')?.pausedUntil ?? 0) - now - 60_000) < 50)
    assert.deepEqual(of('b')?.limit, { rate: { intervalMs: 600, burst: 7 }, concurrency: 3 })
    assert.deepEqual([of('c')?.over?.intervalMs, of('c')?.over?.burst], [50, 2])
    await store.control(resume('a'))
    await store.control(limit(null, 'b'))
    await advance(60_001)
    assert.deepEqual((await other.controls()).controls, [])
  }),

  controlTest('one topic more than may have controls is refused, and nothing changes', async ({ store }) => {
    for (let i = 0; i < 1_000; i += 1) await store.control(pause(`t${i}`))
    await assert.rejects(store.control(pause('more')), { code: 'CONTROLS_TOO_MANY' })
    await store.control({ kind: 'pause', topic: 't0', until: { delayMs: 1 } })
    assert.equal(
      (await store.controls()).controls.some(({ topic }) => topic === 'more'),
      false,
    )
    await store.control(resume('t1'))
    await store.control(pause('more'))
  }),
]
