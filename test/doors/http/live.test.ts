import { expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { UnavailableError } from '../../../src/index.ts'
import { MemoryStore } from '../../../src/store/memory/store.ts'
import { FaultyStore } from '../../../src/testing/index.ts'
import { listen, named } from './listening.ts'
import { makeStand, QUEUE } from './stand.ts'

it('tells counts and topics at once, changes within a second, and actions with who did them', async () => {
  const stand = await makeStand()
  const events = await listen(stand)
  await expect.poll(() => named(events, 'topics').length).toBe(1)
  expect(named(events, 'stats')[0]?.data).toMatchObject({ counts: { delayed: 0 } })
  await stand.queue.produce('t', 1, { delay: '1h', id: 'a' })
  await expect
    .poll(() => named(events, 'stats').at(-1)?.data, { timeout: 5_000 })
    .toMatchObject({ counts: { delayed: 1 } })
  await stand.call('DELETE', `${QUEUE}/messages/a`)
  await expect
    .poll(() => named(events, 'audit')[0]?.data)
    .toMatchObject({ action: 'cancel', about: 'a', who: 'local' })
})

it('a listener that comes back hears what happened meanwhile', async () => {
  const stand = await makeStand()
  const events = await listen(stand)
  await stand.call('PUT', `${QUEUE}/topics/a/pause`, {})
  await expect.poll(() => named(events, 'audit').length).toBe(1)
  await stand.call('PUT', `${QUEUE}/topics/b/pause`, {})
  await stand.call('PUT', `${QUEUE}/topics/c/pause`, {})
  const again = await listen(stand, named(events, 'audit')[0]?.id)
  await expect.poll(() => named(again, 'audit').map(({ data }) => data.about)).toEqual(['b', 'c'])
})

it('a store that is away is told, and that it is back', async () => {
  const store = new FaultyStore(new MemoryStore(systemClock), systemClock)
  const stand = await makeStand({}, { store })
  const events = await listen(stand)
  await expect.poll(() => named(events, 'stats').length).toBe(1)
  store.fate = () => ({ kind: 'refuse' })
  await expect
    .poll(() => named(events, 'away')[0]?.data, { timeout: 20_000 })
    .toMatchObject({ code: 'STORE_UNAVAILABLE' })
  store.fate = () => undefined
  await expect.poll(() => named(events, 'back').length, { timeout: 20_000 }).toBe(1)
})

it('what a store says of itself is told without its password', async () => {
  const stand = await makeStand()
  stand.queue.stats = () =>
    Promise.reject(new UnavailableError('STORE_UNAVAILABLE', 'no answer from redis://me:pw@host'))
  const events = await listen(stand)
  await expect
    .poll(() => named(events, 'away')[0]?.data)
    .toMatchObject({ code: 'STORE_UNAVAILABLE', detail: 'no answer from redis://…@host' })
})

it('a stop ends it, after a word', async () => {
  const stand = await makeStand()
  const events = await listen(stand)
  await expect.poll(() => named(events, 'stats').length).toBe(1)
  await stand.server.close()
  await expect.poll(() => events.slice(-2).map(({ event }) => event)).toEqual(['stopping', 'end'])
})
