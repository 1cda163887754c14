/** One filter for cancel, reschedule, revive and purge, on every engine: what fits is changed, and nothing else. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { ModelStore } from '../../simulation/world/model-store.ts'
import { systemClock } from '../../src/clock.ts'
import { Punctual, type FilterProgress } from '../../src/index.ts'
import type { Lease, Store } from '../../src/store/contract/store.ts'
import { StoreWrapper, type StoreVerb } from '../../src/store/contract/verbs.ts'
import { MemoryStore } from '../../src/store/memory/store.ts'
import { ack, claimDue, dead, idsOf } from '../../src/testing/conformance/stand.ts'
import { openStore, temporaryDirectory } from '../store/file/bench.ts'
import { RedisServer } from '../store/redis/server.ts'
import { storeAt } from '../store/redis/stores.ts'

const HOUR_MS = 3_600_000
const TOPIC = 'order.close'

let server: RedisServer
beforeAll(async () => {
  server = await RedisServer.start()
})
afterAll(() => server?.stop())

/** Pages of the model are short, so that every walk has many. */
const ENGINES: readonly [name: string, open: () => Promise<Store>][] = [
  ['memory', async () => new MemoryStore(systemClock)],
  ['model', async () => new ModelStore(() => systemClock.now(), { batchMax: 30, leadMs: 0 })],
  [
    'file',
    async () => {
      const { directory, remove } = await temporaryDirectory()
      onTestFinished(remove)
      return openStore(directory)
    },
  ],
  ['redis', async () => storeAt(server.url)],
]

/** Tells of each call before it is sent, so that a test can do something in between. */
class WatchedStore extends StoreWrapper {
  before: (verb: StoreVerb) => Promise<unknown> = async () => undefined

  override async around<T>(verb: StoreVerb, _args: readonly unknown[], call: () => Promise<T>): Promise<T> {
    await this.before(verb)
    return call()
  }
}

async function place(
  open: () => Promise<Store>,
): Promise<{ store: Store; watched: WatchedStore; queue: Punctual }> {
  const store = await open()
  await store.open()
  const watched = new WatchedStore(store)
  const queue = new Punctual({ store: watched, logger: false })
  onTestFinished(async () => {
    await queue.stop()
    await store.close()
  })
  return { store, watched, queue }
}

async function fill(queue: Punctual, prefix: string, count: number, options: object): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, i) => `${prefix}${String(i).padStart(4, '0')}`)
  await queue.produceMany(ids.map((id) => ({ topic: TOPIC, payload: { id }, id, ...options })))
  return ids
}

async function bury(store: Store, leases: readonly Lease[]): Promise<void> {
  const { batchMax } = store.capabilities
  for (let from = 0; from < leases.length; from += batchMax)
    await store.settle(leases.slice(from, from + batchMax).map((lease) => dead(lease)))
}

async function everything(queue: Punctual, options: object = {}): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const page = await queue.list({ limit: 1_000, ...options, ...(cursor === undefined ? {} : { cursor }) })
    ids.push(...idsOf(page.items))
    cursor = page.cursor
  } while (cursor !== undefined)
  return ids.toSorted()
}

describe.each(ENGINES)('filters on %s', (_name, open) => {
  it('cancel by tag: what waits goes, what runs is counted and stays, dead letters stay', async () => {
    const { store, queue } = await place(open)
    await fill(queue, 'soon', 2, { tag: 'order-42' })
    const [runs] = await claimDue(store, 1)
    await bury(store, await claimDue(store, 1))
    const mine = await fill(queue, 'mine', 40, { tag: ['order-42', 'x'], delay: '1h' })
    const others = await fill(queue, 'other', 40, { tag: 'order-43', delay: '1h' })
    expect(await queue.cancel({ tag: 'order-42' }, { dryRun: true })).toEqual({ cancelled: 40, running: 1 })
    expect(await everything(queue, { tag: 'x' })).toEqual(mine)
    expect(await queue.cancel({ tag: 'order-42' })).toEqual({ cancelled: 40, running: 1 })
    expect(await everything(queue)).toEqual([...others, 'soon0000', 'soon0001'])
    expect(await queue.cancel({ tag: 'order-42' })).toEqual({ cancelled: 0, running: 1 })
    expect((await queue.get(runs?.id ?? ''))?.state).toBe('running')
  })

  it('cancel by topic, by state, by limit and by ids', async () => {
    const { store, queue } = await place(open)
    const delayed = await fill(queue, 'd', 35, { delay: '1h' })
    const ready = await fill(queue, 'r', 35, {})
    await queue.produce('other', 1, { id: 'other', delay: '1h' })
    const [runs] = idsOf(await claimDue(store, 1))
    expect(await queue.cancel({ topic: TOPIC, state: 'ready', limit: 4 })).toEqual({
      cancelled: 4,
      running: 0,
    })
    expect(await queue.cancel({ topic: TOPIC, limit: 10 })).toMatchObject({ cancelled: 10 })
    expect(await queue.cancel({ topic: TOPIC }, { dryRun: true })).toEqual({ cancelled: 55, running: 1 })
    expect(await queue.cancel({ topic: TOPIC })).toEqual({ cancelled: 55, running: 1 })
    expect(await everything(queue)).toEqual(['other', runs ?? ''].toSorted())
    expect(await queue.cancel({ ids: ['other', 'other', runs ?? '', 'nobody'] })).toEqual({
      cancelled: 1,
      running: 1,
    })
    expect([...delayed, ...ready].length).toBe(70)
  })

  it('reschedule by a filter ends, although every message it moves is ahead of it again', async () => {
    const { queue } = await place(open)
    const early = await fill(queue, 'a', 45, { delay: '30m' })
    const late = await fill(queue, 'b', 45, { delay: '3h', priority: 'high' })
    const ready = await fill(queue, 'c', 10, {})
    let looked = 0
    const counts = await queue.reschedule(
      { topic: TOPIC },
      { delay: '1h' },
      { onProgress: (progress) => (looked = progress.looked) },
    )
    expect(counts).toEqual({ rescheduled: 100, running: 0 })
    // Once in its old place, once in its new one; an engine may look at all of them in each of three states.
    expect(looked).toBeLessThanOrEqual(600)
    const dueAt = async (id: string): Promise<number> => (await queue.get(id))?.dueAt ?? 0
    for (const id of [...early, ...late, ...ready]) {
      const distance = (await dueAt(id)) - systemClock.now()
      expect(Math.abs(distance - HOUR_MS), id).toBeLessThan(60_000)
    }
    const at = systemClock.now() + 2 * HOUR_MS
    expect(await queue.reschedule({ state: 'delayed' }, { at })).toMatchObject({ rescheduled: 100 })
    expect(await dueAt('b0007')).toBe(Math.ceil(at))
  })

  it('reschedule by tag, and by ids', async () => {
    const { queue } = await place(open)
    await fill(queue, 'a', 40, { delay: '1h', tag: 't' })
    await fill(queue, 'b', 5, { delay: '1h' })
    const at = systemClock.now() + 5 * HOUR_MS
    expect(await queue.reschedule({ tag: 't' }, { at }, { dryRun: true })).toEqual({
      rescheduled: 40,
      running: 0,
    })
    expect(await everything(queue, { dueFrom: at - HOUR_MS })).toEqual([])
    expect(await queue.reschedule({ tag: 't' }, { at })).toEqual({ rescheduled: 40, running: 0 })
    expect((await everything(queue, { dueFrom: at - HOUR_MS })).length).toBe(40)
    expect(await queue.reschedule({ ids: ['b0000', 'nobody'] }, { at })).toEqual({
      rescheduled: 1,
      running: 0,
    })
  })

  it('revive by tag and by topic; purge by tag, in every state that does not run', async () => {
    const { store, queue } = await place(open)
    await fill(queue, 'd', 40, { tag: 't' })
    await fill(queue, 'e', 20, { tag: 'u' })
    for (let leases = await claimDue(store, 30); leases.length > 0; leases = await claimDue(store, 30))
      await bury(store, leases)
    expect(await queue.revive({ tag: 't' }, { dryRun: true })).toBe(40)
    expect(await queue.revive({ tag: 't', limit: 15 })).toBe(15)
    expect(await queue.revive({ tag: 't' })).toBe(25)
    expect(await queue.revive({ topic: TOPIC, limit: 3 })).toBe(3)
    expect(await queue.purge({ tag: 'u' }, { dryRun: true })).toBe(20)
    expect(await queue.purge({ tag: 'u' })).toBe(20)
    await fill(queue, 'later', 5, { tag: 't', delay: '1h' })
    const [runs] = await claimDue(store, 1)
    expect(await queue.purge({ tag: 't' })).toBe(44)
    expect(await everything(queue)).toEqual([runs?.id])
  })

  it('what is revived and dies again while it goes on is not revived for ever', async () => {
    const { store, watched, queue } = await place(open)
    await fill(queue, 'd', 60, {})
    for (let leases = await claimDue(store, 30); leases.length > 0; leases = await claimDue(store, 30))
      await bury(store, leases)
    await new Promise((resolve) => setTimeout(resolve, 2)) // Deaths are told apart by the millisecond.
    watched.before = async (verb) => {
      if (verb === 'inspect') await bury(store, await claimDue(store, 30))
    }
    expect(await queue.revive({ state: 'dead' })).toBe(60)
  })

  it('what begins to run between the look and the deed is left alone, and counted', async () => {
    const { store, watched, queue } = await place(open)
    await fill(queue, 'm', 5, { tag: 't' })
    watched.before = async (verb) => {
      if (verb === 'remove') await claimDue(store, 2)
    }
    expect(await queue.cancel({ tag: 't' })).toEqual({ cancelled: 3, running: 2 })
  })

  it('messages that come due while it goes on are met all the same', async () => {
    const { watched, queue } = await place(open)
    const ids = await fill(queue, 'm', 80, { delay: '1h' })
    let looks = 0
    watched.before = async (verb) => {
      if (verb !== 'inspect') return
      looks += 1
      // The last of them are due before the walk over delayed ones has reached them.
      if (looks === 2)
        await watched.inner.reschedule(ids.slice(-5).map((id) => ({ id, when: { delayMs: 0 } })))
    }
    expect(await queue.cancel({ topic: TOPIC })).toEqual({ cancelled: 80, running: 0 })
  })

  it('older than: by the time of death, or by the time of producing', async () => {
    const { store, queue } = await place(open)
    await fill(queue, 'd', 3, { tag: 't' })
    await bury(store, await claimDue(store, 2))
    expect(await queue.purge({ tag: 't', olderThan: '1h' })).toBe(0)
    expect(await queue.purge({ state: 'dead', olderThan: '1h' })).toBe(0)
    expect((await queue.list({ state: 'ready', olderThan: '1h' })).items).toEqual([])
    expect(await queue.purge({ state: 'dead', olderThan: 0 })).toBe(2)
    expect((await queue.list({ state: 'ready', olderThan: 0 })).items.length).toBe(1)
  })

  it('progress is told after each step, and ends at the result', async () => {
    const { queue } = await place(open)
    await fill(queue, 'm', 120, { tag: 't', delay: '1h' })
    const seen: FilterProgress[] = []
    await queue.cancel({ tag: 't' }, { onProgress: (progress) => seen.push(progress) })
    expect(seen.at(-1)).toEqual({ done: 120, looked: 120 })
    expect(seen.map(({ done }) => done)).toEqual(seen.map(({ done }) => done).toSorted((a, b) => a - b))
  })

  it('list by ids keeps their order and passes over what is gone; get shows the tags', async () => {
    const { store, queue } = await place(open)
    await fill(queue, 'm', 40, { tag: ['a', 'b'] })
    await store.settle((await claimDue(store, 1)).map(ack))
    const ids = ['m0039', 'nobody', 'm0005', 'm0021']
    expect(idsOf((await queue.list({ ids })).items)).toEqual(['m0039', 'm0005', 'm0021'])
    expect(await queue.get('m0005')).toMatchObject({ tags: ['a', 'b'] })
    await queue.produce(TOPIC, 1, { id: 'plain' })
    expect(await queue.get('plain')).not.toHaveProperty('tags')
  })
})

describe('filters that mean nothing', () => {
  it.each([
    [{}, 'FILTER_INVALID'],
    [{ olderThan: '1h' }, 'FILTER_INVALID'],
    [{ limit: 5 }, 'FILTER_INVALID'],
    [{ ids: ['a'], tag: 't' }, 'FILTER_INVALID'],
    [{ tag: '' }, 'TAG_INVALID'],
    [{ tag: 'a\nb' }, 'TAG_INVALID'],
    [{ tag: 't', limit: 0 }, 'OPTION_INVALID'],
    [{ tag: 't', olderThan: 'long' }, 'DURATION_INVALID'],
    [{ tag: 't', state: 'running' }, 'OPTION_INVALID'],
    [{ tag: 't', soon: true }, 'OPTION_UNKNOWN'],
  ])('%j is refused with %s, and nothing is changed', async (filter, code) => {
    const store = new MemoryStore(systemClock)
    const queue = new Punctual({ store, logger: false })
    await queue.produce('t', 1, { id: 'a', delay: '1h', tag: 't' })
    for (const call of [
      queue.cancel(filter as never),
      queue.reschedule(filter as never, { delay: 0 }),
      queue.revive(filter as never),
      queue.purge(filter as never),
    ])
      await expect(call).rejects.toMatchObject({ code })
    await expect(queue.cancel({ tag: 't' }, { dryRun: 'yes' as never })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
    })
    expect((await store.count()).states.delayed).toBe(1)
    await queue.stop()
  })

  it.each([
    [[], []],
    ['a', ['a']],
    [
      ['a', 'b', 'a'],
      ['a', 'b'],
    ],
  ])('a message takes the tag %j', async (tag, tags) => {
    const store = new MemoryStore(systemClock)
    const queue = new Punctual({ store, logger: false })
    await queue.produce('t', 1, { id: 'a', delay: '1h', tag })
    expect((await store.inspect({ ids: ['a'] })).items).toMatchObject([{ tags }])
    await queue.stop()
  })

  it.each([['a', 'b', 'c', 'd', 'e'], [''], [5], ['x'.repeat(201)], ['a', 'a\u0000']])(
    'a message does not take these tags, case %#',
    async (...tag) => {
      const queue = new Punctual({ store: new MemoryStore(systemClock), logger: false })
      await expect(queue.produce('t', 1, { tag: tag as never })).rejects.toMatchObject({
        code: 'TAG_INVALID',
      })
      await queue.stop()
    },
  )
})
