/** What a move carries of keys: those of messages, limits of each, and limits of one. */
import { expect, it } from 'vitest'
import { moveQueue } from '../../../src/queue/moving/move.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { MemoryStore } from '../../../src/store/memory/store.ts'
import { SeededRandom, VirtualClock } from '../../../src/testing/index.ts'
import { message } from '../../../src/testing/conformance/stand.ts'
import { StoreWrapper } from '../../../src/store/contract/verbs.ts'

const TOPIC = 'mail'

async function filled(clock: VirtualClock): Promise<Store> {
  const store = new MemoryStore(clock)
  await store.open()
  await store.put(['a', 'b'].map((id) => message(id, { topic: TOPIC, key: `key of ${id}` })))
  await store.control({ kind: 'limit', topic: TOPIC, limit: { perKey: { concurrency: 1 } } })
  for (let i = 0; i < 150; i += 1)
    await store.control({ kind: 'limit', topic: TOPIC, key: `big ${i}`, limit: { weight: 3 } })
  return store
}

function move(source: Store, target: Store, clock: VirtualClock): Promise<unknown> {
  const parts = { host: 'oak', waitMs: 0, onProgress: () => undefined, isAnew: false }
  return moveQueue({ source, target, clock, random: new SeededRandom(1), ...parts })
}

it('messages keep their keys, and limits of keys hold in the target', async () => {
  const clock = new VirtualClock()
  const target = new MemoryStore(clock)
  await move(await filled(clock), target, clock)
  const { items } = await target.inspect({ ids: ['a', 'b'] })
  expect(items.map(({ key }) => key)).toEqual(['key of a', 'key of b'])
  expect((await target.controls()).controls).toEqual([
    { topic: TOPIC, limit: { perKey: { concurrency: 1 } }, hasKeyLimits: true },
  ])
  const { keys } = await target.keys({ topic: TOPIC, keys: ['big 0', 'big 149', 'key of a'] })
  expect(keys.map(({ limit, waiting }) => [limit, waiting])).toEqual([
    [{ weight: 3 }, 0],
    [{ weight: 3 }, 0],
    [undefined, 1],
  ])
})

it('a target without keys is refused before anything is changed', async () => {
  const clock = new VirtualClock()
  const source = await filled(clock)
  const target = new StoreWrapper(new MemoryStore(clock), { features: ['controls', 'limits'] })
  await expect(move(source, target, clock)).rejects.toMatchObject({ code: 'UNSUPPORTED', value: 'keys' })
  expect((await source.count()).states.ready).toBe(2)
  expect((await source.controls()).controls).toHaveLength(1)
})
