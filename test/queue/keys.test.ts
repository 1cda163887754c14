/** Keys as users hold them: fair shares without a setting, one at a time, limits of each, and what they are told. */
import { describe, expect, it } from 'vitest'
import type { Message, Punctual } from '../../src/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { MemoryStore } from '../../src/store/memory/store.ts'
import type { VirtualClock } from '../../src/testing/index.ts'
import { ModelStore } from '../../simulation/world/model-store.ts'
import * as worlds from '../runtime/world.ts'

const sleep = (clock: VirtualClock, ms: number): Promise<void> =>
  new Promise((resolve) => clock.schedule(ms, resolve))

function flood(queue: Punctual, key: string, count: number): Promise<string[]> {
  return queue.produceMany(
    Array.from({ length: count }, (_, i) => ({ topic: 'mail', key, id: `${key}-${i}` })),
  )
}

const STORES: readonly [name: string, make: (clock: VirtualClock) => Store][] = [
  ['memory', (clock) => new MemoryStore(clock)],
  ['model', (clock) => new ModelStore(() => clock.now(), { batchMax: 300, leadMs: 10 })],
]

describe.each(STORES)('keys: %s', (_, make) => {
  const makeWorld = (): worlds.World => worlds.makeWorld({ shared: true }, make)

  it('P16: behind the flood of one key another key waits for its next turn, not for the flood', async () => {
    const { queue, clock } = makeWorld()
    const mail = queue({ concurrency: 4 })
    const starts: string[] = []
    mail.handle('mail', async ({ key }) => {
      starts.push(key ?? '')
      await sleep(clock, 10)
    })
    await flood(mail, 'flood', 200)
    await mail.start()
    await clock.advance(55)
    const before = starts.length
    expect(before).toBeLessThan(40)
    await mail.produce('mail', undefined, { key: 'other' })
    await clock.advance(40)
    const behind = starts.indexOf('other') - before
    expect(starts).toContain('other')
    // What its worker had fetched for the next 10 ms, and the turn of the flood.
    expect(behind).toBeLessThanOrEqual(2 * 4 + 1)
  })

  it('P17: one at a time, in order, and a retry holds what comes after', async () => {
    const { queue, clock } = makeWorld()
    const mail = queue({ concurrency: 10, retry: { delays: [1_000] } })
    await mail.limit('mail', { perKey: { concurrency: 1 } })
    const starts: string[] = []
    mail.handle('mail', async ({ id, attempt }: Message) => {
      starts.push(`${id} ${attempt}`)
      await sleep(clock, 10)
      if (id === 'a-1' && attempt === 1) throw new Error('once')
    })
    await flood(mail, 'a', 3)
    await flood(mail, 'b', 2)
    await mail.start()
    await clock.advance(500)
    const why = await mail.why('a-2')
    expect(why).toMatchObject({ kind: 'key-retry', key: 'a', heldBy: 'a-1' })
    expect(await mail.why('a-1')).toMatchObject({ kind: 'retry', holdsKey: 'a' })
    await clock.advance(2_000)
    expect(starts.filter((start) => start.startsWith('a'))).toEqual(['a-0 1', 'a-1 1', 'a-1 2', 'a-2 1'])
    expect(starts.filter((start) => start.startsWith('b'))).toEqual(['b-0 1', 'b-1 1'])
    expect((await mail.keys('mail')).keys).toEqual([])
  })

  it('why says what a key waits for, and how many of it come before', async () => {
    const { queue, clock } = makeWorld()
    const mail = queue({ concurrency: 10 })
    await mail.limit('mail', { perKey: { concurrency: 1, rate: '1/10s', burst: 1 } })
    mail.handle('mail', () => sleep(clock, 1_000))
    await flood(mail, 'a', 3)
    await mail.start()
    await clock.advance(100)
    expect(await mail.why('a-2')).toMatchObject({
      kind: 'key-busy',
      key: 'a',
      running: 1,
      holders: [{ id: 'a-0' }],
    })
    await clock.advance(2_000)
    expect(await mail.why('a-1')).toMatchObject({ kind: 'key-rate', key: 'a' })
  })

  it('a filter by key finds all of one customer, in every state', async () => {
    const { queue } = makeWorld()
    const mail = queue()
    await flood(mail, 'a', 5)
    await flood(mail, 'b', 5)
    expect(await mail.reschedule({ key: 'a', topic: 'mail' }, { delay: '1h' })).toEqual({
      rescheduled: 5,
      running: 0,
    })
    expect((await mail.list({ key: 'b' })).items.map(({ id, key }) => `${id} ${key}`)).toHaveLength(5)
    expect(await mail.cancel({ key: 'a' })).toEqual({ cancelled: 5, running: 0 })
    expect(await mail.purge({ key: 'b' })).toBe(5)
    expect((await mail.stats()).counts).toMatchObject({ delayed: 0, ready: 0 })
  })

  it('limits of keys are set, shown and taken back', async () => {
    const { queue } = makeWorld()
    const mail = queue()
    await mail.limit('mail', { concurrency: 50, perKey: { concurrency: 1, rate: '10/1s', burst: 5 } })
    await mail.limit('mail', { weight: 3 }, { key: 'big' })
    await mail.limit('mail', { concurrency: 4, rate: '5/1s' }, { key: 'other' })
    const [control] = (await mail.stats({ topics: ['mail'] })).controls
    expect(control?.limit).toEqual({ concurrency: 50, perKey: { concurrency: 1, rate: '10/1s', burst: 5 } })
    const { keys } = await mail.keys('mail')
    expect(keys.map(({ key, limit }) => [key, limit])).toEqual([
      ['big', { weight: 3 }],
      ['other', { concurrency: 4, rate: '5/1s', burst: 1 }],
    ])
    await mail.limit('mail', null, { key: 'big' })
    await mail.limit('mail', null, { key: 'other' })
    expect((await mail.keys('mail')).keys).toEqual([])
    await mail.limit('mail', null)
    expect((await mail.stats({ topics: ['mail'] })).controls).toEqual([])
  })

  it('occurrences of a schedule, follow-ups and successors carry their keys', async () => {
    const { queue, clock } = makeWorld()
    const mail = queue()
    const seen: string[] = []
    mail.handle('mail', async ({ key, followUp }) => {
      seen.push(String(key))
      if (key === 'daily') await followUp('mail', undefined, { key: 'child' })
    })
    await mail.schedules.set('daily', { topic: 'mail', every: '1m', times: 1, key: 'daily' })
    expect(await mail.schedules.get('daily')).toMatchObject({ key: 'daily' })
    await mail.start()
    await clock.advance(120_000)
    expect(seen).toEqual(['daily', 'child'])
  })

  it('what cannot be a key, or a limit of one, is refused with what to do', async () => {
    const { queue } = makeWorld()
    const mail = queue()
    for (const key of ['', '..', 'a\nb', 'x'.repeat(201), 7])
      await expect(mail.produce('mail', undefined, { key: key as string })).rejects.toMatchObject({
        code: 'KEY_INVALID',
      })
    await expect(mail.limit('mail', {})).rejects.toThrow('none of "rate", "concurrency" and "perKey"')
    await expect(mail.limit('mail', { perKey: {} })).rejects.toThrow('perKey has neither')
    await expect(mail.limit('mail', { perKey: { burst: 2 } })).rejects.toThrow(
      'neither "rate" nor "concurrency"',
    )
    await expect(mail.limit('mail', {}, { key: 'a' })).rejects.toThrow(
      'none of "rate", "concurrency" and "weight"',
    )
    await expect(mail.limit('mail', { weight: 0 }, { key: 'a' })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
    })
    await expect(mail.keys('mail', { limit: 0 })).rejects.toMatchObject({ code: 'OPTION_INVALID' })
    expect((await mail.keys('mail')).keys).toEqual([])
  })
})
