/** The strict store tells of every call that the contract forbids, and lets all others pass unseen. */
import { describe, expect, it } from 'vitest'
import type { ClaimDue, NewMessage, Store } from '../../src/store/contract/store.ts'
import { MemoryStore } from '../../src/store/memory/store.ts'
import { FaultyStore, StrictStore, VirtualClock } from '../../src/testing/index.ts'

const CLAIM: ClaimDue = {
  from: 'due',
  owner: 'test',
  wants: [{ topic: 't', limit: 5 }],
  limit: 5,
  bytesMax: 1_000,
  leaseMs: 1_000,
  leadMs: 0,
}

function message(id: string, fields: Partial<NewMessage> = {}): NewMessage {
  return {
    id,
    topic: 't',
    body: '',
    meta: '',
    priority: 1,
    when: { delayMs: 0 },
    ifExists: 'keep',
    ...fields,
  }
}

function makeStrict(): { store: Store; mistakes: string[] } {
  const clock = new VirtualClock()
  const small = new FaultyStore(new MemoryStore(clock), clock, {
    batchMax: 5,
    wantsMax: 3,
    batchBytesMax: 100,
  })
  const mistakes: string[] = []
  return { store: new StrictStore(small, (mistake) => mistakes.push(mistake)), mistakes }
}

const lease = { id: 'a', token: '1', topic: 't' }
const topics = (count: number) => Array.from({ length: count }, (_, i) => ({ topic: `${i}`, limit: 1 }))
const messages = (count: number) => Array.from({ length: count }, (_, i) => message(`${i}`))

const WRONG: readonly (readonly [string, RegExp, (store: Store) => Promise<unknown>])[] = [
  ['a limit of 0', /limit of 0/, (store) => store.claim({ ...CLAIM, limit: 0 })],
  ['a limit above the maximum', /limit of 6/, (store) => store.claim({ ...CLAIM, limit: 6 })],
  [
    'a limit of 0 for lapsed ones',
    /limit of 0/,
    (store) => store.claim({ from: 'lapsed', owner: 'test', limit: 0, leaseMs: 1 }),
  ],
  ['a page of 0', /limit of 0/, (store) => store.inspect({ state: 'ready', limit: 0 })],
  ['a page of topics that is too long', /limit of 6/, (store) => store.countTopics({ limit: 6 })],
  [
    'a topic wanted with a limit of 0',
    /"t" is wanted/,
    (store) => store.claim({ ...CLAIM, wants: [{ topic: 't', limit: 0 }] }),
  ],
  [
    'a topic wanted twice',
    /wanted twice/,
    (store) => store.claim({ ...CLAIM, wants: [...CLAIM.wants, ...CLAIM.wants] }),
  ],
  ['nothing wanted', /wants nothing/, (store) => store.claim({ ...CLAIM, wants: [] })],
  ['too many wants', /4 wants/, (store) => store.claim({ ...CLAIM, wants: topics(4) })],
  ['no owner', /without an owner/, (store) => store.claim({ ...CLAIM, owner: '' })],
  ['no bytes', /0 bytes/, (store) => store.claim({ ...CLAIM, bytesMax: 0 })],
  ['a lead beyond the store’s', /lead of 5/, (store) => store.claim({ ...CLAIM, leadMs: 5 })],
  ['too many entries', /6 entries/, (store) => store.put(messages(6))],
  ['too many ids', /6 entries/, (store) => store.inspect({ ids: ['1', '2', '3', '4', '5', '6'] })],
  [
    'too many bytes',
    /bytes in one call/,
    (store) => store.put([message('a', { body: 'x'.repeat(60) }), message('b', { body: 'x'.repeat(60) })]),
  ],
  [
    'too many bytes of errors',
    /bytes in one call/,
    (store) =>
      store.settle([
        { kind: 'retry', ...lease, delayMs: 0, error: 'x'.repeat(60) },
        { kind: 'dead', ...lease, reason: 'x'.repeat(30), error: 'x'.repeat(30) },
      ]),
  ],
  [
    'a delay that is no number',
    /a number is NaN/,
    (store) => store.settle([{ kind: 'retry', ...lease, delayMs: NaN, error: '' }]),
  ],
  ['a lease without end', /a number is Infinity/, (store) => store.extend([lease], Infinity)],
]

describe('the strict store', () => {
  for (const [what, mistake, call] of WRONG) {
    it(`tells of ${what}`, async () => {
      const { store, mistakes } = makeStrict()
      await call(store).catch(() => {})
      expect(mistakes).toHaveLength(1)
      expect(mistakes[0]).toMatch(mistake)
    })
  }

  it('lets pass what the contract allows', async () => {
    const { store, mistakes } = makeStrict()
    await store.put([message('big', { body: 'x'.repeat(500) })])
    await store.put(messages(5))
    const { leases } = await store.claim({ ...CLAIM, wants: [...CLAIM.wants, ...topics(2)] })
    await store.extend(leases, 1_000)
    await store.settle(leases.map(({ id, token, topic }) => ({ kind: 'release', id, token, topic })))
    await store.inspect({ state: 'ready', limit: 5 })
    await store.countTopics({ topics: ['t'] })
    await store.figures({ from: 0, until: 1 })
    expect(mistakes).toEqual([])
  })
})
