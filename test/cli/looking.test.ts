/** What the doors make of what looking tells: sentences and tables that fit 80 columns, on a store that keeps it all. */
import { describe, expect, it } from 'vitest'
import { bucketOf } from '../../src/core/metrics/lateness.ts'
import { encodeFacts } from '../../src/core/owner.ts'
import { COMMANDS, type CommandName } from '../../src/doors/cli/commands.ts'
import type { Lease, Page, Store } from '../../src/store/contract/store.ts'
import { StoreWrapper } from '../../src/store/contract/verbs.ts'
import type { VirtualClock } from '../../src/testing/index.ts'
import { ModelStore } from '../../simulation/world/model-store.ts'
import { makeWorld, type World } from '../runtime/world.ts'
import { runCommandHere } from './in-process.ts'

const COLUMNS = 80

// Moments are shown in the local zone.
process.env.TZ = 'UTC'

function model(clock: VirtualClock): Store {
  return new ModelStore(() => clock.now(), { batchMax: 500, leadMs: 0 })
}

function world(): World {
  return makeWorld({ shared: true }, model)
}

async function claim(store: Store, pid: number, topics: readonly string[]): Promise<readonly Lease[]> {
  const facts = { version: '0.1.0', host: 'oak', pid, startedAt: 0, running: 3, slots: 4 }
  const { leases } = await store.claim({
    from: 'due',
    owner: `oak:${pid}:start:word`,
    facts: encodeFacts({ ...facts, topics, topicCount: topics.length }),
    wants: topics.map((topic) => ({ topic, limit: 1 })),
    limit: 1,
    bytesMax: 1_000,
    leaseMs: 15_000,
    leadMs: 0,
  })
  return leases
}

/** As on a terminal of 80 columns, without its colours. */
async function screen({ queue, clock }: World, name: CommandName, ...words: string[]): Promise<string[]> {
  const { stdout, stderr } = await runCommandHere(await COMMANDS[name](), words, {
    queue: queue(),
    clock,
    columns: COLUMNS,
  })
  const lines = `${stdout}${stderr}`.split('\n').slice(0, -1)
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(COLUMNS)
  return lines
}

describe('why', () => {
  it('says what each kind means', async () => {
    const here = world()
    const { clock, memory, queue: make } = here
    const queue = make()
    await queue.produce('order.close', 1, { id: 'x', delay: '1m' })
    expect(await screen(here, 'why', 'x')).toEqual([
      'x is not due yet: 2030-01-01T00:01:00.000Z (in 1m)',
      'No living worker handles "order.close" at the moment.',
    ])
    await clock.advance('90s')
    expect(await screen(here, 'why', 'x')).toEqual([
      'x has been due for 30.0 s, and no living worker handles "order.close"',
      'No worker is alive at all: start one.',
    ])
    await claim(memory, 7, ['mail.send'])
    expect((await screen(here, 'why', 'x'))[1]).toBe(
      '1 worker of other topics is alive: see "punctual workers".',
    )
    await queue.produce('order.close', 1, { id: 'first', at: clock.now() - 60_000 })
    const [lease] = await claim(memory, 8, ['order.close'])
    expect((await screen(here, 'why', 'first'))[0]).toMatch(
      /^first has been running for 0\S* ms: attempt 1, by oak:8$/,
    )
    expect((await screen(here, 'why', 'first'))[1]).toBe(
      'Its lease ends in 15.0 s unless its worker extends it.',
    )
    expect(await screen(here, 'why', 'x')).toEqual([
      'x has been due for 30.0 s, and is the next of "order.close"',
      '1 message of "order.close" runs right now: it waits for a free slot of its',
      'handler ("concurrency"), or of its worker.',
      '1 living worker handles "order.close".',
    ])
    await queue.produce('order.close', 1, { id: 'second', at: clock.now() - 60_000 })
    expect((await screen(here, 'why', 'x'))[0]).toBe(
      'x has been due for 30.0 s, and 1 message of "order.close" is before it',
    )
    await clock.advance('14s')
    expect((await screen(here, 'why', 'x')).slice(-3)).toEqual([
      '1 living worker handles "order.close", last heard of 14.0 s ago.',
      'Its process may have been killed since, which shows after two minutes: see',
      '"punctual workers".',
    ])
    await clock.advance('166s')
    expect(await screen(here, 'why', 'first')).toEqual([
      'first waits to be taken over: its lease ended 2m 45s ago',
      'Attempt 1, run by oak:8, ended without an answer.',
      'Its worker is silent, last seen 3m ago.',
      'No worker is alive that could: start one.',
    ])
    if (lease === undefined) throw new Error('no lease')
    await memory.settle([
      { ...lease, kind: 'retry', delayMs: 60_000, error: `Error: no\n${'way '.repeat(50)}` },
    ])
    expect(await screen(here, 'why', 'first')).toEqual([
      'first waits for attempt 2: 2030-01-01T00:05:30.000Z (in 1m)',
      'Attempt 1 failed: Error: no',
      'No living worker handles "order.close" at the moment.',
    ])
    expect(await screen(here, 'why', 'nobody')).toEqual([
      'nobody: there is no such message in queue "default"',
      'It was completed, cancelled or purged, or was never produced here.',
      'What became of a message is kept for those that were produced with "remember".',
    ])
  })

  it('tells the slots of its workers only where nothing of its topic runs', async () => {
    const here = world()
    await claim(here.memory, 8, ['t'])
    await here.queue().produce('t', 1, { id: 'x' })
    expect((await screen(here, 'why', 'x')).slice(1)).toEqual([
      '1 living worker handles "t"; 3 of its 4 slots were taken.',
    ])
  })

  it('does not count a server that handles nothing as a worker', async () => {
    const here = world()
    await here.queue().produce('t', 1, { id: 'x' })
    await claim(here.memory, 7, [])
    expect((await screen(here, 'why', 'x'))[1]).toBe('No worker is alive at all: start one.')
    expect((await screen(here, 'workers'))[1]).toMatch(/^oak:7 +alive .* none: fires schedules only$/)
    await here.clock.advance('1m')
    expect((await screen(here, 'doctor')).join('').replaceAll(/\s+/g, ' ')).toContain(
      'and no living worker handles it',
    )
    expect((await screen(here, 'stats')).at(-1)).toBe('! "t" is overdue by 1m; no living worker handles it')
  })

  it('says what becomes of a message whose ttl has passed', async () => {
    const here = world()
    const queue = here.queue()
    await queue.produce('t', 1, { id: 'x', ttl: '10s' })
    await queue.produce('t', 1, { id: 'skipped', ttl: '10s', ifExpired: 'skip' })
    await here.clock.advance('10s')
    expect(await screen(here, 'why', 'x')).toHaveLength(2)
    await here.clock.advance('30s')
    expect((await screen(here, 'why', 'x')).slice(2).join(' ')).toBe(
      'Its ttl ended 30.0 s ago: a worker that gets it moves it to the dead letters without running it.',
    )
    expect((await screen(here, 'why', 'skipped')).at(-1)).toBe(
      'Its ttl ended 30.0 s ago: a worker that gets it skips it without running it.',
    )
    await queue.pause('t')
    expect((await screen(here, 'why', 'skipped')).join(' ')).toContain('Its ttl ended')
    // What has run once is not bound by its ttl any more.
    await queue.resume('t')
    await queue.produce('u', 1, { id: 'again', ttl: '10s' })
    const [lease] = await claim(here.memory, 8, ['u'])
    if (lease === undefined) throw new Error('no lease')
    await here.memory.settle([{ ...lease, kind: 'retry', delayMs: 1_000, error: 'no' }])
    await here.clock.advance('1m')
    expect((await screen(here, 'why', 'again')).join(' ')).not.toContain('ttl')
  })

  it('P19: outside its window, by the clock of its zone, and what get shows of it', async () => {
    const here = world()
    const within = '08:00-20:00,mon-fri,except 01-01,Europe/Berlin'
    await screen(here, 'produce', 't', '1', '--id', 'x', '--delay', '2h', '--within', within)
    expect((await screen(here, 'why', 'x'))[0]).toBe(
      'x is outside its window until Wed 08:00 (Europe/Berlin)',
    )
    const shown = await screen(here, 'get', 'x')
    expect(shown).toContain(`within      ${within}`)
    expect(shown.find((line) => line.startsWith('moved from'))).toContain('2030-01-01T02:00:00.000Z')
    await here.clock.advance('9h')
    await here.queue().reschedule('x', { delay: 0 })
    expect((await screen(here, 'why', 'x')).join(' ')).toContain('It is outside its window until Wed 08:00')
    await screen(here, 'produce', 't', '1', '--id', 'local', '--at', '2030-02-01 09:00 Asia/Tokyo')
    expect(await screen(here, 'get', 'local')).toContain('said        2030-02-01 09:00 Asia/Tokyo')
    await screen(here, 'produce', 't', '1', '--id', 'days', '--after', '3 workdays,09:00,Europe/Berlin')
    expect((await screen(here, 'get', 'days')).join(' ')).toContain('due         2030-01-04T08:00:00.000Z')
  })

  it.each([
    [['--at', '09:00 Mars/Olympus'], 'Mars/Olympus'],
    [['--within', '08:00-20:00,Europe/Berlin,UTC'], 'only the zone must stand'],
    [['--after', '3 days,UTC'], '3 workdays,09:00'],
    [['--at', '09:00 UTC', '--delay', '1h'], '--delay and --at together'],
    [['--within', '08:00-20:00,except de,UTC'], 'this queue has no calendars'],
  ])('produce %j is refused', async (words, text) => {
    await expect(screen(world(), 'produce', 't', '1', ...words)).rejects.toThrow(text)
  })

  it('breaks long lines between words', async () => {
    const here = world()
    await here.queue().produce('a.topic.with.quite.a.long.name', 1, { id: 'an-id-that-is-long' })
    expect(await screen(here, 'why', 'an-id-that-is-long')).toEqual([
      'an-id-that-is-long has been due for 0.00 ms, and no living worker handles',
      '"a.topic.with.quite.a.long.name"',
      'No worker is alive at all: start one.',
    ])
  })
})

describe('workers', () => {
  it('the living first, cut to the terminal', async () => {
    const here = world()
    const { clock, memory } = here
    expect(await screen(here, 'workers')).toEqual(['no worker was seen within the last hour'])
    await claim(memory, 1, ['t'])
    await claim(memory, 2, ['t'])
    await clock.advance('10m')
    await memory.leave('oak:2:start:word')
    await claim(
      memory,
      3,
      Array.from({ length: 30 }, (_, i) => `topic.${i}`),
    )
    await clock.advance('20s')
    expect(await screen(here, 'workers')).toEqual([
      'WORKER  STATE       UP         SEEN  RUNS  VERSION  TOPICS',
      expect.stringMatching(
        /^oak:3 {3}alive {3}20\.0 s {3}20\.0 s ago {3}3\/4 {2}0\.1\.0 {4}topic\.0, topic\.1.*…$/,
      ),
      'oak:1   silent  1.00 s  10m 20s ago   3/4  0.1.0    t',
      'oak:2   gone       10m   20.0 s ago   3/4  0.1.0    t',
    ])
  })
})

describe('stats', () => {
  it('topics by what waits, what ended lately, and what is overdue', async () => {
    const here = world()
    const { clock, memory, queue: make } = here
    await make().produceMany([{ topic: 'bom' }, { topic: 'bom' }, { topic: 'later', delay: '1h' }])
    await clock.advance('15m')
    const lateness = [
      [bucketOf(1), 99],
      [bucketOf(80), 1],
    ] as const
    await memory.record([{ topic: 'done', completed: 100, failed: 2, dead: 1, skipped: 0, lateness }])
    const lines = await screen(here, 'stats')
    expect(lines.slice(8)).toEqual([
      'TOPIC  WAITING  RUNNING  DEAD  DONE  FAILED  NEXT DUE',
      'bom          2        0     0     0       0  15m ago',
      'later        1        0     0     0       0  in 45m',
      'done         0        0     0   100       2',
      '',
      'lately   100 completed (25 a minute), 2 failed, 1 dead',
      expect.stringMatching(/^late by {2}p50 1\.\d\d ms, p99 1\.\d\d ms, max 8\d\.\d ms$/),
      'due since 2030-01-01T00:00:00.000Z (15m ago)',
      '! "bom" is overdue by 15m; no living worker handles it',
    ])
    expect(await screen(here, 'stats', '--top', '1')).toContain(
      '2 more topics; --topic TOPIC shows one, --top N so many',
    )
  })
})

describe('list', () => {
  it('P10: looks at a bounded number of messages, and says how to go on', async () => {
    let looks = 0
    class SparseStore extends StoreWrapper {
      override async inspect(): Promise<Page> {
        looks += 1
        return { items: [], cursor: 'next', scanned: 60_000 }
      }
    }
    const here = makeWorld({ shared: true }, (clock) => new SparseStore(model(clock)))
    expect(await screen(here, 'list', '--state', 'delayed', '--text', 'x')).toEqual([
      'none among the first 120,000 messages',
      "there is more: --cursor 'delayed.next', or --all",
    ])
    expect(looks).toBe(2)
  })
})

describe('upcoming', () => {
  it('cuts by the calendar, and lets no single letter to the future choose the unit', async () => {
    const here = world()
    const queue = here.queue()
    await here.clock.advance('30m')
    await queue.produce('t', 1, { at: here.clock.now() - 1 })
    for (let i = 1; i <= 12; i += 1) await queue.produce('t', i, { delay: `${i * 30}m` })
    await queue.produce('t', 1, { delay: '9000d' })
    expect(await screen(here, 'upcoming', '--bars', '8')).toEqual([
      '14 messages wait; per hour, UTC',
      expect.stringMatching(/^due now {11}1 {2}█/),
      '2030-01-01 00:00  ·',
      ...['01', '02', '03', '04', '05'].map((hour) =>
        expect.stringMatching(new RegExp(`^2030-01-01 ${hour}:00  2  █`)),
      ),
      expect.stringMatching(/^2030-01-01 06:00 {2}2 {2}█/),
      expect.stringMatching(/^later {13}1 {2}█/),
    ])
  })
})

describe('upcoming, of schedules alone', () => {
  it('shows what they will bring before any worker has seen them, in a unit that shows their rhythm', async () => {
    const here = world()
    const queue = here.queue()
    await here.clock.advance('30m')
    await queue.schedules.set('beat', { topic: 't', every: '1h' })
    expect(await screen(here, 'upcoming', '--bars', '3')).toEqual([
      '0 messages wait; per hour, UTC',
      '2030-01-01 00:00  ·',
      '2030-01-01 01:00  ·   +1 by schedule',
      '2030-01-01 02:00  ·   +1 by schedule',
    ])
    expect((await screen(here, 'upcoming', '--by', 'day', '--bars', '1'))[1]).toBe(
      '2030-01-01  ·   +23 by schedule',
    )
  })
})

describe('list and dead', () => {
  it('show reason, error and payload on lines of their own', async () => {
    const here = world()
    const { clock, queue: make } = here
    const queue = make({ logger: false })
    const payload = { to: 'ada@example.com', subject: 'Your order 42 is on its way', lines: [1, 2, 3] }
    await queue.produce('mail.send', payload, { id: 'mail-0123456789-0123456789', delay: '1h' })
    await queue.produce('order.close.after.thirty.minutes', { orderId: 42 }, { id: 'order-42', delay: '30m' })
    expect(await screen(here, 'list', '--topic', 'mail.send')).toEqual([
      'ID                          STATE    TOPIC      DUE    TRIES',
      'mail-0123456789-0123456789  delayed  mail.send  in 1h      0',
      '    {"to":"ada@example.com","subject":"Your order 42 is on its way","lines":[1,…',
    ])
    queue.handle('mail.send', () => Promise.reject(new Error('connect ETIMEDOUT 10.0.0.7:25')), {
      retry: { limit: 0 },
    })
    await queue.start()
    await clock.advance('2h')
    expect(await screen(here, 'dead')).toEqual([
      'ID                          TOPIC      DIED    TRIES',
      'mail-0123456789-0123456789  mail.send  1h ago      1',
      '    failed: Error: connect ETIMEDOUT 10.0.0.7:25',
      '    {"to":"ada@example.com","subject":"Your order 42 is on its way","lines":[1,…',
    ])
  })
})
