/** A list sorted by the moment when messages are due, all topics together, on every engine. */
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { Punctual, type ListOptions, type Store } from '../../src/index.ts'
import { insidesOf } from '../../src/queue/insides.ts'
import { listByDue, type DueOrder } from '../../src/queue/looking/by-due.ts'
import { fileEngine, mysqlEngine, postgresEngine, redisEngine } from '../cli/engines.ts'
import { makePlace } from '../cli/punctual.ts'

const ENGINES = [
  { name: 'memory', store: async () => 'memory:', stop: async () => undefined, isMissing: false },
  fileEngine(),
  redisEngine(),
  postgresEngine(),
  mysqlEngine(),
].filter(({ isMissing }) => !isMissing)
afterAll(() => Promise.all(ENGINES.map(({ stop }) => stop())))

const HOUR = 3_600_000
const MINUTE = 60_000

type Due = { readonly id: string; readonly at: number; readonly topic: string }

async function openStore(url: string | undefined): Promise<{ queue: Punctual; store: Store }> {
  const queue = new Punctual({
    store: url ?? `file:${(await makePlace()).directory}/.punctual`,
    queue: `by-due-${crypto.randomUUID()}`,
    logger: false,
  })
  onTestFinished(async () => void (await queue.stop({ timeout: 0 })))
  return { queue, store: await insidesOf(queue).open() }
}

async function put(queue: Punctual, messages: readonly Due[]): Promise<void> {
  for (let from = 0; from < messages.length; from += 1_000)
    await queue.produceMany(
      messages.slice(from, from + 1_000).map(({ at, ...rest }, i) => ({
        ...rest,
        at,
        payload: { word: i % 50 === 0 ? 'needle' : 'hay' },
        priority: (['high', 'normal', 'low'] as const)[i % 3] ?? 'normal',
      })),
    )
}

/** All pages, and how long each was. */
async function walk(
  store: Store,
  options: ListOptions,
  order: DueOrder,
): Promise<{ ids: string[]; pages: number[] }> {
  const ids: string[] = []
  const pages: number[] = []
  let cursor: string | undefined
  do {
    const page = await listByDue(
      store,
      { ...options, ...(cursor === undefined ? {} : { cursor }) },
      { order, now: Date.now() },
    )
    ids.push(...page.items.map(({ id }) => id))
    pages.push(page.items.length)
    cursor = page.cursor
  } while (cursor !== undefined && pages.length < 5_000)
  return { ids, pages }
}

const byDue = (messages: readonly Due[]): string[] =>
  messages.toSorted((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1)).map(({ id }) => id)

describe.each(ENGINES)('on $name', ({ store: storeOf }) => {
  it('shows each message once, in order, forwards and backwards, in full pages', async () => {
    const { queue, store } = await openStore(await storeOf())
    const now = Date.now()
    // Overdue, in clusters, alone and far away; topics whose names and moments have nothing to do with each other.
    const messages = Array.from({ length: 900 }, (_, i) => ({
      id: `m-${(i * 7_919) % 900}`,
      topic: `topic-${(i * 31) % 9}`,
      at:
        i % 9 === 0
          ? now - HOUR - i * 1_000
          : i % 5 === 0
            ? now + 40 * 24 * HOUR + (i % 3)
            : now + 10 * MINUTE + ((i * 104_729) % (90 * MINUTE)),
    }))
    await put(queue, [...messages, { id: 'last', topic: 'z', at: now + 90 * 365 * 24 * HOUR }])
    const all = byDue([...messages, { id: 'last', topic: 'z', at: Infinity }])
    const rising = await walk(store, { limit: 70 }, 'due')
    expect(rising.ids).toEqual(all)
    expect(rising.pages.filter((length) => length < 70).length).toBeLessThanOrEqual(2)
    expect((await walk(store, { limit: 70 }, '-due')).ids).toEqual(all.toReversed())
    const delayed = byDue(
      [...messages, { id: 'last', topic: 'z', at: Infinity }].filter(({ at }) => at > now),
    )
    expect((await walk(store, { state: 'delayed', limit: 101 }, 'due')).ids).toEqual(delayed)
    expect((await walk(store, { state: 'ready', limit: 33 }, '-due')).ids).toEqual(
      byDue(messages.filter(({ at }) => at <= now)).toReversed(),
    )
    const ranged = { dueFrom: now + 20 * MINUTE, dueUntil: now + 40 * MINUTE, topic: 'topic-4' }
    expect((await walk(store, { ...ranged, limit: 5 }, 'due')).ids).toEqual(
      byDue(
        messages.filter(
          ({ at, topic }) => topic === ranged.topic && at >= ranged.dueFrom && at < ranged.dueUntil,
        ),
      ),
    )
    const needles = await walk(store, { text: 'needle', limit: 7 }, 'due')
    expect(needles.ids).toHaveLength(19)
    expect(needles.ids).toEqual(all.filter((id) => needles.ids.includes(id)))
    expect((await walk(store, { idPrefix: 'm-1', limit: 9 }, 'due')).ids).toEqual(
      all.filter((id) => id.startsWith('m-1')),
    )
  }, 120_000)

  it('more in one millisecond than can be sorted: each once, between what is due before and after', async () => {
    const { queue, store } = await openStore(await storeOf())
    const at = Date.now() + HOUR
    const burst = Array.from({ length: 4_500 }, (_, i) => ({ id: `b-${i}`, topic: `topic-${i % 3}`, at }))
    const around = [-1, 0, 1].flatMap((by) =>
      [0, 1].map((i) => ({ id: `${by}-${i}`, topic: 'around', at: at + by * 60_000 + i })),
    )
    await put(queue, [...burst, ...around])
    for (const order of ['due', '-due'] as const) {
      const { ids } = await walk(store, { limit: 1_000 }, order)
      expect([...burst, ...around].filter(({ id }) => !ids.includes(id)).map(({ id }) => id)).toEqual([])
      expect(new Set(ids).size).toBe(4_506)
      expect(ids).toHaveLength(4_506)
      const [first, last] = [ids.slice(0, 2), ids.slice(-2)]
      const early = ['-1-0', '-1-1']
      const late = ['1-0', '1-1']
      expect(first).toEqual(order === 'due' ? early : late.toReversed())
      expect(last).toEqual(order === 'due' ? late : early.toReversed())
    }
  }, 120_000)
})

it('a cursor of another order, or of a plain list, is refused', async () => {
  const { queue, store } = await openStore('memory:')
  await put(
    queue,
    Array.from({ length: 5 }, (_, i) => ({ id: `${i}`, topic: 't', at: Date.now() + HOUR + i })),
  )
  const { cursor = '' } = await listByDue(store, { limit: 2 }, { order: 'due', now: Date.now() })
  const { cursor: plain = '' } = await queue.list({ limit: 2 })
  for (const [order, given] of [
    ['-due', cursor],
    ['due', plain],
  ] as const)
    await expect(
      (async () => listByDue(store, { limit: 2, cursor: given }, { order, now: 0 }))(),
    ).rejects.toMatchObject({
      code: 'CURSOR_INVALID',
    })
})

it('messages of a key that has few are one page, however many others are due before and between them', async () => {
  const { queue, store } = await openStore('memory:')
  const now = Date.now()
  const flood = Array.from({ length: 40_000 }, (_, i) => ({
    id: `f-${i}`,
    topic: 't',
    at: now + HOUR * (i + 1),
  }))
  await put(queue, flood)
  const few = [39_000, 5, 20_000].map((hour, i) => ({
    topic: 't',
    id: `k-${i}`,
    payload: i,
    key: 'customer-7',
    at: now + HOUR * hour + MINUTE,
  }))
  await queue.produceMany(few)
  for (const [order, ids] of [
    ['due', ['k-1', 'k-2', 'k-0']],
    ['-due', ['k-0', 'k-2', 'k-1']],
  ] as const)
    expect(await walk(store, { topic: 't', key: 'customer-7', limit: 50 }, order)).toEqual({
      ids,
      pages: [3],
    })
})
