/** Limits (P14): how many a claim hands out under a rate or a concurrency, and when it says to ask again. */
import assert from 'node:assert/strict'
import type { Lease, Want } from '../../store/contract/store.ts'
import { assertNoTask, assertWaits, limitTest, limit, pause, putMany, rate, resume } from './control-stand.ts'
import {
  LEASE_MS,
  REAPER,
  TOPIC,
  ack,
  claim,
  claimDue,
  claimLapsed,
  claimOne,
  dead,
  lapse,
  message,
  only,
  release,
  retry,
  stored,
} from './stand.ts'
import type { ConformanceTest } from './test.ts'

export const limitTests: readonly ConformanceTest[] = [
  limitTest('a rate lets a burst start, then one in each interval', async ({ store, advance }) => {
    await putMany(store, 10)
    await store.control(limit(rate(1_000, 3)))
    const first = await claim(store, {})
    assert.deepEqual([first.leases.length, first.limited], [3, [TOPIC]])
    // Half an interval of leeway makes up for questions that come a little late.
    assertWaits(first, 500)
    assert.equal(first.next.state === 'WAITING' && first.next.isSharp, true)
    await advance(501)
    assert.equal((await claim(store, {})).leases.length, 1)
    const next = await claim(store, {})
    assert.equal(next.leases.length, 0)
    assertWaits(next, 999)
    await advance(2_001)
    assert.equal((await claim(store, {})).leases.length, 2)
  }),

  limitTest('a quicker rate does not wait for what a slow one has used', async ({ store, advance }) => {
    await putMany(store, 10)
    await store.control(limit(rate(3_600_000, 2)))
    assert.equal((await claim(store, {})).leases.length, 2)
    await store.control(limit(rate(1_000, 1)))
    let got = 0
    for (let second = 0; second < 4; second += 1) {
      await advance(1_000)
      got += (await claim(store, {})).leases.length
    }
    assert.equal(got, 4)
  }),

  limitTest('no window holds more than burst + rate x window + 1', async ({ store, advance }) => {
    await putMany(store, 300)
    const [intervalMs, burst] = [50, 4]
    await store.control(limit(rate(intervalMs, burst)))
    const starts: number[] = []
    let now = 0
    for (const step of [0, 7, 30, 400, 1, 26, 50, 250, 13, 90, 3, 5, 60, 1_000, 25, 25, 25, 49, 51, 200]) {
      await advance(step)
      now += step
      const { leases } = await claim(store, { limit: 7 })
      starts.push(...leases.map(() => now))
    }
    for (const [i, from] of starts.entries())
      for (const [more, until] of starts.slice(i).entries()) {
        const most = burst + (until - from + 1) / intervalMs + 1
        assert.ok(more + 1 <= most, `${more + 1} starts from ${from} to ${until}, allowed: ${most}`)
      }
  }),

  limitTest('a worker that asks when told to gets the whole rate', async ({ store, advance }) => {
    await putMany(store, 500)
    const [intervalMs, burst] = [40, 2]
    await store.control(limit(rate(intervalMs, burst)))
    let [now, got] = [0, 0]
    while (now < 10_000) {
      const { leases, next } = await claim(store, {})
      got += leases.length
      // Each question comes a few milliseconds after the moment that it was told, as in life.
      const ms = next.state === 'WAITING' ? Math.ceil(next.ms) + 7 : 0
      await advance(ms)
      now += ms
    }
    const most = now / intervalMs + burst
    assert.ok(got >= most * 0.95 && got <= most + 1, `${got} of ${most}`)
  }),

  limitTest('a limited topic is never handed out ahead of its moment', async ({ store, advance }) => {
    const { leadMs } = store.capabilities
    await store.control(limit({ concurrency: 5 }))
    await store.put([message('a', { when: { delayMs: 100 } })])
    await advance(100 - leadMs / 2 - 1)
    const early = await claim(store, { leadMs })
    assert.deepEqual(early.leases, [])
    assertWaits(early, leadMs / 2 + 1)
    await advance(leadMs / 2 + 2)
    assert.equal((await claim(store, { leadMs })).leases.length, 1)
  }),

  limitTest('a limited topic is handed out only as far as it can start at once', async ({ store }) => {
    await putMany(store, 10)
    await putMany(store, 10, 'other')
    await putMany(store, 10, 'free')
    await store.control(limit({ concurrency: 100 }))
    await store.control(limit({ concurrency: 100 }, 'other'))
    const wants: readonly Want[] = [
      { topic: TOPIC, limit: 8, free: 3 },
      { topic: 'other', limit: 8, free: 3 },
      { topic: 'free', limit: 10, free: 0 },
    ]
    const reply = await claim(store, { wants, limit: 50, free: 5 })
    const got = (topic: string): number => reply.leases.filter((lease) => lease.topic === topic).length
    assert.deepEqual([got(TOPIC), got('other'), got('free')], [3, 2, 10])
    assert.deepEqual(reply.limited?.toSorted(), [TOPIC, 'other'].toSorted())
    // What lies beyond the slots of the asker is not spoken of: it asks again when one is free.
    assert.deepEqual(reply.next, { state: 'NO_TASK' })
    assert.equal((await claim(store, { wants, limit: 50, free: 5 })).leases.length, 5)
  }),

  limitTest('concurrency counts leases over all owners', async ({ store }) => {
    await putMany(store, 6)
    await store.control(limit({ concurrency: 3 }))
    const a = await claim(store, { owner: 'a', limit: 2 })
    const b = await claim(store, { owner: 'b' })
    assert.deepEqual([a.leases.length, b.leases.length], [2, 1])
    assert.deepEqual(b.next, { state: 'NO_TASK' })
    assertNoTask({ ...(await claim(store, { owner: 'c' })) })
    const endings = [ack, retryLater, dead] as const
    const held = [...a.leases, ...b.leases]
    for (const [i, ending] of endings.entries()) {
      await store.settle([ending(held[i] as Lease)])
      assert.equal((await claim(store, { owner: 'c' })).leases.length, 1, 'each end frees a place')
    }
  }),

  limitTest('the place of a dead worker returns with its lease', async ({ store, advance }) => {
    await putMany(store, 4)
    await store.control(limit({ concurrency: 2 }))
    assert.equal((await claim(store, { owner: 'dies' })).leases.length, 2)
    await advance(LEASE_MS + 1)
    assertNoTask(await claim(store, { owner: 'lives' }))
    const lapsed = await claimLapsed(store, 10, REAPER)
    assert.equal(lapsed.length, 2)
    assertNoTask(await claim(store, { owner: 'lives' }))
    await store.settle(lapsed.map((lease) => lapse(lease)))
    assert.equal((await claim(store, { owner: 'lives' })).leases.length, 2)
  }),

  limitTest('a limit lowered below what runs takes nothing back', async ({ store }) => {
    await putMany(store, 10)
    await store.control(limit({ concurrency: 4 }))
    const held = await claimDue(store)
    assert.equal(held.length, 4)
    await store.control(limit({ concurrency: 2 }))
    for (const lease of held.slice(0, 2)) {
      assertNoTask(await claim(store, {}))
      assert.deepEqual(await store.settle([ack(lease)]), ['settled'])
    }
    assertNoTask(await claim(store, {}))
    await store.settle([ack(held[2] as Lease)])
    assert.equal((await claimDue(store)).length, 1)
    await store.control(limit({ concurrency: 5 }))
    assert.equal((await claimDue(store)).length, 3)
  }),

  limitTest('a limit replaces the one before as a whole, and null takes it back', async ({ store }) => {
    await putMany(store, 30)
    await store.control(limit({ ...rate(60_000, 2), concurrency: 10 }))
    assert.equal((await claimDue(store)).length, 2)
    await store.control(limit({ concurrency: 5 }))
    assert.equal((await claimDue(store)).length, 3)
    await store.control(limit(null))
    const reply = await claim(store, {})
    assert.deepEqual([reply.leases.length, reply.limited], [25, undefined])
  }),

  limitTest('a rate that is set again gives no new burst', async ({ store }) => {
    await putMany(store, 20)
    await store.control(limit(rate(60_000, 5)))
    assert.equal((await claimDue(store)).length, 5)
    await store.control(limit(rate(60_000, 5)))
    assert.equal((await claimDue(store)).length, 0)
  }),

  limitTest('a rate that comes after a limit without one begins with its whole burst', async ({ store }) => {
    await putMany(store, 20)
    await store.control(limit(rate(60_000, 5)))
    assert.equal((await claimDue(store)).length, 5)
    await store.control(limit({ concurrency: 5 }))
    await store.control(limit(rate(60_000, 5)))
    assert.equal((await claimDue(store)).length, 5)
  }),

  limitTest('a pause and a resume give a rate no new burst', async ({ store }) => {
    await putMany(store, 20)
    await store.control(limit(rate(60_000, 5)))
    assert.equal((await claimDue(store)).length, 5)
    await store.control(pause())
    await store.control(resume())
    assert.equal((await claimDue(store)).length, 0)
  }),

  limitTest('a second resume over some time begins with its whole burst', async ({ store }) => {
    await putMany(store, 20)
    const over = { intervalMs: 60_000, burst: 3, ms: 3_600_000 }
    for (let times = 0; times < 2; times += 1) {
      await store.control({ kind: 'resume', topic: TOPIC, over })
      assert.equal((await claimDue(store)).length, 3)
      assert.equal((await claimDue(store)).length, 0)
    }
  }),

  limitTest('what is given back under a rate stays charged', async ({ store }) => {
    await putMany(store, 2)
    await store.control(limit(rate(60_000, 1)))
    await store.settle([release(await claimOne(store))])
    assert.equal((await claimDue(store)).length, 0)
    assert.equal((await stored(store, `${TOPIC}-0`)).attempt, 0)
  }),

  limitTest('higher priorities come first under a limit', async ({ store }) => {
    await store.put([message('low', { priority: 2 }), message('high', { priority: 0 }), message('normal')])
    await store.control(limit({ concurrency: 1 }))
    for (const id of ['high', 'normal', 'low']) {
      const lease = only(await claimDue(store))
      assert.equal(lease.id, id)
      await store.settle([ack(lease)])
    }
  }),

  limitTest('a resume over some time is a rate that ends by itself', async ({ store, advance }) => {
    await putMany(store, 100)
    await store.control(pause())
    await store.control({ kind: 'resume', topic: TOPIC, over: { intervalMs: 1_000, burst: 1, ms: 10_000 } })
    const first = await claim(store, {})
    assert.deepEqual([first.leases.length, first.limited], [1, [TOPIC]])
    await advance(2_000)
    assert.equal((await claimDue(store)).length, 1, 'what was not used is not saved up beyond the burst')
    await advance(7_700)
    assert.equal((await claimDue(store)).length, 1)
    // By its rate the next would be later than its end.
    assertWaits(await claim(store, {}), 300)
    await advance(301)
    const last = await claim(store, {})
    assert.deepEqual([last.leases.length, last.limited], [97, undefined])
    assert.deepEqual((await store.controls()).controls, [])
  }),

  limitTest('a rate of the whole queue is shared by its topics', async ({ store, advance }) => {
    await putMany(store, 5, 'a')
    await putMany(store, 5, 'b')
    await store.control({ kind: 'resume', topic: '', over: { intervalMs: 1_000, burst: 3, ms: 60_000 } })
    await store.control(limit({ concurrency: 1 }, 'a'))
    const first = await claim(store, { topics: ['a', 'b'] })
    assert.deepEqual(
      first.leases.map(({ topic }) => topic),
      ['a', 'b', 'b'],
    )
    assert.deepEqual(first.limited?.toSorted(), ['a', 'b'])
    await advance(501)
    assert.deepEqual(
      (await claimDue(store, 10, ['a', 'b'])).map(({ topic }) => topic),
      ['b'],
    )
  }),
]

function retryLater(lease: Lease): ReturnType<typeof retry> {
  return retry(lease, 3_600_000)
}
