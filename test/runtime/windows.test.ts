/** P19: no handler starts outside its message's window, and nothing is lost or stuck because of one. */
import { describe, expect, it } from 'vitest'
import { Snooze, type Punctual } from '../../src/index.ts'
import { SHARED, makeWorld, record } from './world.ts'

/** The virtual clock begins on Tuesday 1 January 2030, 00:00 in UTC and 01:00 in Berlin. */
const START = Date.UTC(2030, 0, 1)
const HOUR_MS = 3_600_000
const DAY = { from: '08:00', to: '20:00', zone: 'Europe/Berlin' } as const
const OFFICE = { ...DAY, days: 'mon-fri', except: 'de' } as const
const CALENDARS = { de: ['12-25', '01-01'] }

/** When handlers started, in hours since the start. */
function startsOf(queue: Punctual, now: () => number, topic = 't'): [unknown, number][] {
  const starts: [unknown, number][] = []
  queue.handle(topic, ({ payload }) => void starts.push([payload, (now() - START) / HOUR_MS]))
  return starts
}

describe('produce', () => {
  it('its moment becomes the next opening, and it remembers what it was asked for', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ calendars: CALENDARS })
    const starts = startsOf(queue, () => clock.now())
    await queue.start()
    await queue.produce('t', 'day', { id: 'day', within: DAY })
    await queue.produce('t', 'office', { id: 'office', delay: '2h', within: OFFICE })
    await queue.produce('t', 'open', { id: 'open', delay: '8h', within: DAY })
    expect(await queue.get('day')).toMatchObject({
      dueAt: START + 7 * HOUR_MS,
      movedFrom: START,
      within: [DAY],
    })
    expect(await queue.get('office')).toMatchObject({
      dueAt: START + 31 * HOUR_MS,
      movedFrom: START + 2 * HOUR_MS,
      within: [{ ...OFFICE, except: ['de'] }],
    })
    const open = await queue.get('open')
    expect([open?.dueAt, open?.movedFrom]).toEqual([START + 8 * HOUR_MS, undefined])
    await clock.advance('48h')
    expect(starts).toEqual([
      ['day', 7],
      ['open', 8],
      ['office', 31],
    ])
  })

  it('at the time of a zone, and working days on, with what was said', async () => {
    const { queue: make } = makeWorld()
    const queue = make({ calendars: CALENDARS })
    const at = { local: '09:00', zone: 'America/New_York' }
    const after = { workdays: 2, at: '09:00', zone: 'Europe/Berlin', except: 'de' }
    const [local, workdays] = [await queue.produce('t', 1, { at }), await queue.produce('t', 2, { after })]
    expect(await queue.get(local)).toMatchObject({ dueAt: START + 14 * HOUR_MS, said: { at } })
    expect(await queue.get(workdays)).toMatchObject({ dueAt: START + 56 * HOUR_MS, said: { after } })
    await queue.reschedule(workdays, { at: { local: '2030-01-05 10:00', zone: 'UTC' } })
    expect(await queue.get(workdays)).toMatchObject({ dueAt: Date.UTC(2030, 0, 5, 10) })
  })

  it('P7: what is moved starts in its order at the opening, and a spread ends with the window', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    const starts = startsOf(queue, () => clock.now())
    const night = { from: '22:00', to: '23:00', zone: 'UTC' }
    await queue.produceMany(
      Array.from({ length: 20 }, (_, i) => ({
        topic: 't',
        payload: i,
        delay: `${20 - i}m` as const,
        within: night,
      })),
    )
    const spread = await queue.produceMany(
      Array.from({ length: 50 }, () => ({ topic: 'spread', spread: '10h' as const, within: night })),
    )
    const moments = await Promise.all(spread.map(async (id) => (await queue.get(id))?.dueAt ?? 0))
    expect(Math.min(...moments)).toBeGreaterThanOrEqual(START + 22 * HOUR_MS)
    expect(Math.max(...moments)).toBeLessThan(START + 23 * HOUR_MS)
    expect(new Set(moments).size).toBeGreaterThan(40)
    await queue.start()
    await clock.advance('24h')
    expect(starts).toEqual(Array.from({ length: 20 }, (_, i) => [i, 22]))
  })

  it.each([
    [{ within: { ...OFFICE, except: 'fr' } }, 'there are: de'],
    [
      { within: { days: 'mon', except: Array.from({ length: 53 }, (_, i) => date(i)), zone: 'UTC' } },
      'within a year',
    ],
    [{ delay: '1h', after: { workdays: 1, zone: 'UTC' } }, 'give one of them'],
    [{ at: { local: '1970-02-02 00:00', zone: 'UTC' } }, 'at is'],
    [{ within: [] }, 'give 1 to 7'],
  ])('refuses %j', async (options, text) => {
    const { queue: make } = makeWorld()
    const queue = make({ calendars: CALENDARS })
    await expect(queue.produce('t', 1, options as object)).rejects.toThrow(text)
  })
})

/** Mondays from 31 December 2029 on. */
function date(week: number): string {
  return new Date(Date.UTC(2029, 11, 31 + 7 * week)).toISOString().slice(0, 10)
}

describe('P19: what comes due outside its window is moved when it would start', () => {
  it('a retry, a snooze, a reschedule, a late worker: each with its event, and uncounted', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ retry: { limit: 1, delays: ['8h'] } })
    const seen = record(queue)
    const starts: [unknown, number, number][] = []
    queue.handle('t', ({ payload, attempt }) => {
      starts.push([payload, (clock.now() - START) / HOUR_MS, attempt])
      if (starts.length === 1) throw new Error('once')
      if (starts.length === 2) throw new Snooze('14h')
    })
    await queue.start()
    const id = await queue.produce('t', 'x', { delay: '12h', within: DAY })
    await clock.advance('20h')
    const until = START + 31 * HOUR_MS
    expect(await queue.get(id)).toMatchObject({
      dueAt: until,
      firstDueAt: until,
      attempt: 1,
      state: 'delayed',
    })
    expect(await queue.why(id)).toMatchObject({ kind: 'retry', outside: { until, zone: 'Europe/Berlin' } })
    await clock.advance('100h')
    expect(starts).toEqual([
      ['x', 12, 1],
      ['x', 31, 2],
      ['x', 55, 2],
    ])
    const postponed = seen.filter(({ name }) => name === 'postponed').map(({ event }) => event)
    expect(postponed).toEqual([
      { id, topic: 't', attempt: 2, until },
      { id, topic: 't', attempt: 2, until: START + 55 * HOUR_MS },
    ])
  })

  it('a backlog at the closing, and a worker that comes late', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make({ concurrency: 1 })
    const starts: number[] = []
    queue.handle(
      't',
      () => {
        starts.push((clock.now() - START) / HOUR_MS)
        return new Promise<void>((resolve) => void clock.schedule(HOUR_MS, resolve))
      },
      { timeout: '2h' },
    )
    await queue.start()
    const within = { from: '06:00', to: '09:30', zone: 'UTC' }
    await queue.produceMany(Array.from({ length: 6 }, () => ({ topic: 't', within })))
    await clock.advance('48h')
    expect(starts).toEqual([6, 7, 8, 9, 30, 31])
    await queue.produce('late', 1, { within })
    await clock.advance('15h')
    const late = startsOf(queue, () => clock.now(), 'late')
    await clock.advance('48h')
    expect(late).toEqual([[1, 78]])
  })

  it('what a handler says holds for messages that bring no window', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    const starts: [unknown, number][] = []
    queue.handle('t', ({ payload }) => void starts.push([payload, (clock.now() - START) / HOUR_MS]), {
      within: DAY,
    })
    await queue.start()
    await queue.produce('t', 'none')
    await queue.produce('t', 'its own', { within: { from: '02:00', to: '03:00', zone: 'UTC' } })
    await clock.advance('24h')
    expect(starts).toEqual([
      ['its own', 2],
      ['none', 7],
    ])
    expect(() => queue.handle('u', () => undefined, { within: { ...DAY, except: 'fr' } })).toThrow(
      'no calendars',
    )
  })

  it('ttl is asked first, and then counts from the opening', async () => {
    const { clock, queue: make } = makeWorld()
    const queue = make()
    const seen = record(queue)
    const within = { from: '00:00', to: '01:00', zone: 'UTC' }
    await queue.produce('t', 'gone', { id: 'gone', ttl: '1h', within })
    await queue.produce('t', 'moved', { id: 'moved', ttl: '10h', within })
    await clock.advance('2h')
    const starts = startsOf(queue, () => clock.now())
    await queue.start()
    await clock.advance('30h')
    expect(starts).toEqual([['moved', 24]])
    expect(seen).toMatchObject([
      { name: 'dead', event: { id: 'gone', reason: 'expired' } },
      { name: 'postponed', event: { id: 'moved' } },
      { name: 'completed', event: { id: 'moved', latenessMs: 0 } },
    ])
  })

  it('P6: a window hides no poison message: lapses are kept', async () => {
    const { clock, queue: make, memory } = makeWorld()
    const queue = make()
    const id = await queue.produce('t', 'x', { within: { from: '00:00', to: '01:00', zone: 'UTC' } })
    for (const owner of ['a', 'b']) {
      const { leases } = await memory.claim({
        from: 'due',
        owner,
        wants: [{ topic: 't', limit: 1 }],
        limit: 1,
        bytesMax: 1e6,
        leaseMs: 1_000,
        leadMs: 0,
      })
      const [lease] = leases
      await clock.advance('1s')
      await memory.claim({ from: 'lapsed', owner: 'reaper', limit: 1, leaseMs: 1_000 })
      if (lease !== undefined)
        await memory.settle([{ ...(await taken(lease.token)), kind: 'lapse', error: 'it died' }])
    }
    async function taken(token: string) {
      const { leases } = await memory.owned('reaper')
      return leases[0] ?? { id, topic: 't', token }
    }
    expect(await queue.get(id)).toMatchObject({ lapses: 2, attempt: 2 })
    await clock.advance('2h')
    startsOf(queue, () => clock.now())
    await queue.start()
    await clock.advance('1m')
    expect(await queue.get(id)).toMatchObject({ lapses: 2, attempt: 2, dueAt: START + 24 * HOUR_MS })
  })

  it('P17: what its window moved holds nothing in its key', async () => {
    const { clock, queue: make } = makeWorld(SHARED)
    const queue = make()
    await queue.limit('t', { perKey: { concurrency: 1 } })
    const within = { from: '00:00', to: '01:00', zone: 'UTC' }
    await queue.produce('t', 'first', { key: 'k', within })
    await queue.produce('t', 'second', { key: 'k' })
    await clock.advance('2h')
    const starts = startsOf(queue, () => clock.now())
    await queue.start()
    await clock.advance('30h')
    expect(starts.map(([payload]) => payload)).toEqual(['second', 'first'])
    expect(starts[0]?.[1]).toBeLessThan(2.1)
  })

  it('a worker without the calendar starts nothing: it is retried, and then dead with a reason', async () => {
    const { clock, queue: make } = makeWorld()
    const [producer, worker] = [make({ calendars: CALENDARS }), make({ retry: { limit: 1, delays: ['1m'] } })]
    const starts = startsOf(worker, () => clock.now())
    const id = await producer.produce('t', 1, { delay: '32h', within: OFFICE })
    await worker.start()
    await clock.advance('40h')
    expect(starts).toEqual([])
    expect(await producer.get(id)).toMatchObject({ state: 'dead', reason: 'window' })
  })
})
