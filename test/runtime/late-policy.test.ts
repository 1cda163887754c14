/** What is too late to be useful, what is not ready yet, and what must not all start at once. */
import { describe, expect, it } from 'vitest'
import { Snooze, UsageError } from '../../src/index.ts'
import { makeWorld, record } from './world.ts'

const START = Date.UTC(2030, 0, 1)

describe('ttl', () => {
  it.each(['dead', 'skip'] as const)(
    'ifExpired %s: what could not start in time does not run',
    async (ifExpired) => {
      const { clock, queue: make } = makeWorld()
      const queue = make()
      const ran: unknown[] = []
      await queue.produce('remind', 'late', { id: 'late', ttl: '1m', ifExpired })
      await queue.produce('remind', 'in time', { ttl: '10m', ifExpired })
      await clock.advance('2m')
      const seen = record(queue)
      queue.handle('remind', ({ payload }) => void ran.push(payload))
      await queue.start()
      await clock.advance('5s')
      expect(ran).toEqual(['in time'])
      const about = { id: 'late', topic: 'remind', attempt: 1 }
      const { recent, ...stats } = await queue.stats()
      const late = seen.filter(({ event }) => 'id' in event && event.id === 'late')
      if (ifExpired === 'skip') {
        expect(late).toEqual([{ name: 'skipped', event: { ...about, latenessMs: 120_000 } }])
        expect(await queue.get('late')).toBeUndefined()
        expect(recent?.skipped).toBe(1)
      } else {
        expect(late).toMatchObject([{ name: 'dead', event: { ...about, reason: 'expired' } }])
        expect(stats.counts.dead).toBe(1)
      }
    },
  )

  it('counts from the moment that a snooze set, and not from that of a retry', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ retry: { delays: ['10m'] } })
    const starts: number[] = []
    queue.handle('remind', () => {
      starts.push(clock.now() - START)
      if (starts.length === 1) throw new Snooze('30m')
      if (starts.length === 2) throw new Error('not yet')
    })
    await queue.start()
    await queue.produce('remind', null, { ttl: '1m', ifExpired: 'skip' })
    await clock.advance('2h')
    expect(starts).toEqual([0, 30 * 60_000, 40 * 60_000])
  })

  it('ifExpired without a ttl is refused', async () => {
    const { queue: make } = makeWorld()
    const queue = make()
    await expect(queue.produce('t', 1, { ifExpired: 'skip' })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
    })
    await expect(queue.produce('t', 1, { ttl: 1, ifExpired: 'no' as 'skip' })).rejects.toThrow(UsageError)
  })
})

describe('Snooze', () => {
  it('P6: is due again then, as often as it likes, and counts no attempt', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ retry: { limit: 0 } })
    const seen = record(queue)
    const starts: { at: number; attempt: number; latenessMs: number }[] = []
    queue.handle('poll', ({ attempt, latenessMs }) => {
      starts.push({ at: clock.now() - START, attempt, latenessMs })
      if (starts.length < 5) throw new Snooze('5m')
    })
    await queue.start()
    await queue.produce('poll', null, { id: 'p' })
    await clock.advance('1h')
    expect(starts).toEqual(
      [0, 5, 10, 15, 20].map((minutes) => ({ at: minutes * 60_000, attempt: 1, latenessMs: 0 })),
    )
    expect(seen.map(({ name }) => name)).toEqual(['snoozed', 'snoozed', 'snoozed', 'snoozed', 'completed'])
    expect(seen[0]?.event).toEqual({ id: 'p', topic: 'poll', attempt: 1, delayMs: 300_000 })
  })
})

describe('spread', () => {
  it('P1: later by a stable share of the window, never earlier', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    const ids = Array.from({ length: 50 }, (_, i) => `mail-${i}`)
    const entries = ids.map((id) => ({ topic: 'mail', id, delay: '1h', spread: '5m' }) as const)
    await queue.produceMany(entries)
    const moments = new Map<string, number>()
    for (const id of ids) moments.set(id, ((await queue.get(id))?.dueAt ?? 0) - START)
    for (const at of moments.values()) {
      expect(at).toBeGreaterThanOrEqual(3_600_000)
      expect(at).toBeLessThan(3_900_000)
    }
    expect(new Set(moments.values()).size).toBeGreaterThan(45)
    await clock.advance('1m')
    const hourOn = { at: new Date(START + 3_600_000), spread: '5m' } as const
    for (const id of ids) expect(await queue.reschedule(id, hourOn)).toBe('rescheduled')
    for (const id of ids) expect(((await queue.get(id))?.dueAt ?? 0) - START).toBe(moments.get(id))
  })
})
