/** P13: schedules from end to end, on a virtual clock. Named after what users of other queues suffer. */
import { describe, expect, it } from 'vitest'
import type { Clock, Punctual, ScheduleSpec } from '../../src/index.ts'
import { CONTROL_MARK, SCHEDULES_TOPIC } from '../../src/core/control.ts'
import { MemoryStore } from '../../src/store/memory/store.ts'
import { FaultyStore } from '../../src/testing/index.ts'
import { SHARED, gate, makeWorld, record, type World } from './world.ts'

const START = Date.UTC(2030, 0, 1)
const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
const TICK: ScheduleSpec = { topic: 'tick', every: '1m' }

/** Everything that started: its id and when, in minutes since the beginning. */
function watch(queue: Punctual, { clock }: World, topic = 'tick'): { id: string; at: number }[] {
  const seen: { id: string; at: number }[] = []
  queue.handle(topic, ({ id }) => void seen.push({ id, at: (clock.now() - START) / MINUTE_MS }))
  return seen
}

function minutes(seen: readonly { at: number }[]): number[] {
  return seen.map(({ at }) => at)
}

describe('P13: schedules', () => {
  it('every minute, on the minute, from one minute after it was set', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const seen = watch(queue, world)
    await queue.start()
    expect(await queue.schedules.set('beat', TICK)).toBe('created')
    await world.clock.advance('10m')
    expect(minutes(seen)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(seen[0]?.id).toBe('{beat}@2030-01-01T00:01:00.000Z')
    expect(await queue.schedules.get('beat')).toMatchObject({ state: 'active', skipped: 0, caughtUp: 0 })
  })

  it('9:00 in Berlin over a change of clocks, with its payload', async () => {
    const world = makeWorld({ wakes: 'sure', shared: false })
    const queue = world.queue()
    const seen: [string, unknown][] = []
    queue.handle('report', ({ dueAt, payload }) => void seen.push([new Date(dueAt).toISOString(), payload]))
    await queue.start()
    await queue.schedules.set('daily', {
      topic: 'report',
      payload: { kind: 'daily' },
      cron: '0 9 * * *',
      zone: 'Europe/Berlin',
      start: new Date('2030-03-29T00:00:00Z'),
      times: 4,
    })
    await world.clock.advance('100d')
    const hours = ['2030-03-29T08', '2030-03-30T08', '2030-03-31T07', '2030-04-01T07']
    expect(seen).toEqual(hours.map((hour) => [`${hour}:00:00.000Z`, { kind: 'daily' }]))
    expect(await queue.schedules.get('daily')).toMatchObject({ state: 'ended', fired: 4 })
  })

  it('on days of the week, and not on what is excepted, by date or by the name of a calendar', async () => {
    const world = makeWorld()
    const queue = world.queue({ calendars: { de: ['01-01', '12-25'] } })
    const days: string[] = []
    queue.handle('report', ({ dueAt }) => void days.push(new Date(dueAt).toISOString().slice(5, 13)))
    await queue.start()
    const spec = { topic: 'report', cron: '0 9,12 * * *', zone: 'Europe/Berlin', days: 'mon-fri' } as const
    await queue.schedules.set('weekly', { ...spec, except: ['de', '2030-01-03'] })
    await world.clock.advance('7d')
    expect(days).toEqual(['01-02T08', '01-02T11', '01-04T08', '01-04T11', '01-07T08', '01-07T11'])
    const found = await queue.schedules.get('weekly')
    expect(found).toMatchObject({ days: 'mon-fri', except: ['01-01', '12-25', '2030-01-03'], skipped: 0 })
    expect(await queue.schedules.set('weekly', { ...spec, except: ['2030-01-03', 'de'] })).toBe('unchanged')
    expect(await queue.schedules.set('weekly', spec)).toBe('changed')
    const seconds = { topic: 'report', cron: '* * * * * *', days: 'sat' } as const
    expect(await queue.schedules.nextOccurrences(seconds, 1)).toEqual([Date.UTC(2030, 0, 12)])
  })

  it.each([
    [{ every: '1h', days: 'mon' }, 'days'],
    [{ cron: '0 9 25 12 *', except: '12-25' }, 'names no day that ever comes'],
    [{ cron: '0 9 * * *', except: 'fr' }, 'this queue has no calendars'],
    [{ cron: '0 9 * * *', days: 'weekdays' }, 'days is "weekdays"'],
  ])('refuses %j', async (cadence, text) => {
    const queue = makeWorld().queue()
    await expect(queue.schedules.set('s', { topic: 't', ...cadence } as never)).rejects.toThrow(text)
  })

  it('P19: occurrences that a window moves all start at its opening', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const seen = watch(queue, world)
    await queue.start()
    const within = { from: '02:00', to: '03:00', zone: 'UTC' }
    await queue.schedules.set('beat', { topic: 'tick', every: '30m', within })
    expect(await queue.schedules.get('beat')).toMatchObject({ within: [within] })
    await world.clock.advance('3h')
    expect(minutes(seen)).toEqual([120, 120, 120, 120, 150])
  })

  it('the same again has no effect; a change counts from what is not placed yet', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const seen = watch(queue, world)
    const other = watch(queue, world, 'other')
    await queue.start()
    await queue.schedules.set('beat', TICK)
    await world.clock.advance('150s')
    expect(await queue.schedules.set('beat', TICK)).toBe('unchanged')
    expect(await queue.schedules.set('beat', { ...TICK, topic: 'other' })).toBe('changed')
    await world.clock.advance('270s')
    expect([...minutes(seen), ...minutes(other)]).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(minutes(other)[0]).toBeLessThanOrEqual(4)
  })

  it('hidden: no count, list, forecast or event of users shows the schedule itself', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const seen = record(queue)
    watch(queue, world)
    await queue.start()
    await queue.schedules.set('beat', { topic: 'tick', every: '1h' })
    await world.clock.advance('2h')
    expect((await queue.stats()).counts).toEqual({ delayed: 0, ready: 0, running: 0, dead: 0 })
    expect((await queue.list()).items).toEqual([])
    expect(seen.map(({ name }) => name)).toEqual(['completed', 'completed'])
    expect((await queue.workers())[0]?.facts?.topics).toEqual(['tick'])
    expect(
      (await world.memory.countTopics({ topics: [SCHEDULES_TOPIC] })).topics[SCHEDULES_TOPIC]?.waiting,
    ).toBe(1)
    await expect(queue.cancel(`${CONTROL_MARK}schedule:beat`)).rejects.toMatchObject({ code: 'ID_INVALID' })
  })

  it('it takes no slot from users, and fires while all of them are taken', async () => {
    const world = makeWorld()
    const queue = world.queue({ concurrency: 1, timeout: '1h' })
    const { opened, open } = gate()
    queue.handle('hog', () => opened)
    await queue.start()
    await queue.produce('hog')
    await queue.schedules.set('beat', TICK)
    await world.clock.advance('3m')
    const { items } = await queue.list({ topic: 'tick' })
    expect(items.length).toBeGreaterThanOrEqual(3)
    open()
  })
})

describe('P13: what breaks in other queues', () => {
  it('the chain does not tear when an occurrence fails, dies or is cancelled', async () => {
    const world = makeWorld()
    const queue = world.queue({ retry: { limit: 0 } })
    const starts: string[] = []
    queue.handle('tick', ({ id }) => {
      starts.push(id)
      throw new Error('always')
    })
    await queue.start()
    await queue.schedules.set('beat', TICK)
    await world.clock.advance('150s')
    const [next] = (await queue.list({ topic: 'tick', state: 'delayed' })).items
    expect(await queue.cancel(next?.id ?? '')).toBe('cancelled')
    await world.clock.advance('5m')
    expect(starts).toHaveLength(6)
    expect(new Set(starts).size).toBe(6)
  })

  it('every process sets it and works, and each occurrence fires once', async () => {
    const world = makeWorld()
    const queues = Array.from({ length: 8 }, () => world.queue())
    const seen = queues.map((queue) => watch(queue, world))
    await Promise.all(queues.map((queue) => queue.start()))
    const results = await Promise.all(queues.map((queue) => queue.schedules.set('beat', TICK)))
    expect(results.toSorted()).toEqual(['created', ...Array.from({ length: 7 }, () => 'unchanged')])
    await world.clock.advance('20m')
    expect(minutes(seen.flat()).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, i) => i + 1),
    )
  })

  it('two versions of one spec: the last writer wins, and nothing fires twice', async () => {
    const world = makeWorld()
    const [old, young] = [world.queue(), world.queue()]
    const seen = [watch(old, world), watch(young, world)]
    await Promise.all([old.start(), young.start()])
    for (let round = 0; round < 10; round += 1) {
      await Promise.all([
        old.schedules.set('beat', TICK),
        young.schedules.set('beat', { ...TICK, payload: round }),
      ])
      await world.clock.advance('47s')
    }
    const ids = seen.flat().map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.length).toBe(7)
  })

  it('an answer that is lost on its way fires nothing twice and leaves nothing out', async () => {
    const world = makeWorld(SHARED)
    const queue = world.queue()
    const seen = watch(queue, world)
    let calls = 0
    world.store.fate = (verb) => {
      if (verb !== 'settle' && verb !== 'claim') return undefined
      calls += 1
      return calls % 3 === 0 ? { kind: 'lose' } : calls % 5 === 0 ? { kind: 'refuse' } : undefined
    }
    await queue.start()
    await queue.schedules.set('beat', TICK)
    await world.clock.advance('30m')
    const ids = new Set(seen.map(({ id }) => id))
    expect(ids.size).toBe(30)
    // A lost answer to an ack cannot repeat the message; the schedule itself placed each once.
    expect(await queue.schedules.get('beat')).toMatchObject({ skipped: 0, caughtUp: 0 })
  })

  it('it does not drift, however slow its handler is', async () => {
    const world = makeWorld()
    const queue = world.queue({ concurrency: 1 })
    const dueAts: number[] = []
    queue.handle('tick', async ({ dueAt }) => {
      dueAts.push(dueAt - START)
      await new Promise<void>((resolve) => void world.clock.schedule(25_000, resolve))
    })
    await queue.start()
    await queue.schedules.set('beat', { topic: 'tick', every: '30s', start: START })
    await world.clock.advance('1h')
    expect(dueAts.every((at) => at % 30_000 === 0)).toBe(true)
    expect(dueAts.length).toBeGreaterThanOrEqual(119)
  })

  it.each([
    ['none', [], 3],
    ['one', [3], 2],
    [{ all: '7d' }, [1, 2, 3], 0],
    [{ all: '36h' }, [2, 3], 1],
  ] as const)('down over three occurrences, catchUp %j', async (catchUp, days, skipped) => {
    const world = makeWorld()
    const first = world.queue()
    await first.start()
    await first.schedules.set('daily', { topic: 'report', every: '1d', start: START + DAY_MS, catchUp })
    await world.clock.advance('1s')
    const stopping = first.stop({ timeout: 0 })
    await world.clock.advance('1s')
    await stopping
    await world.clock.advance(3 * DAY_MS + 3_600_000)
    const second = world.queue()
    const due: number[] = []
    second.handle('report', ({ dueAt }) => void due.push((dueAt - START) / DAY_MS))
    await second.start()
    await world.clock.advance('1m')
    expect(due).toEqual(days)
    expect(await second.schedules.get('daily')).toMatchObject({ skipped, caughtUp: days.length })
    await world.clock.advance('1d')
    expect(due.at(-1)).toBe(4)
  })

  it('overlap skip: one at a time, the others are counted', async () => {
    const world = makeWorld()
    const queue = world.queue({ timeout: '1h' })
    const starts: number[] = []
    queue.handle('slow', async () => {
      starts.push((world.clock.now() - START) / MINUTE_MS)
      await new Promise<void>((resolve) => void world.clock.schedule(150_000, resolve))
    })
    await queue.start()
    await queue.schedules.set('slow', { topic: 'slow', every: '1m', start: START, overlap: 'skip' })
    await world.clock.advance('10m')
    expect(starts).toEqual([0, 3, 6, 9])
    expect((await queue.schedules.get('slow'))?.skipped).toBe(7)
  })

  it('a pause of the schedule skips, a pause that ends goes on; what was placed is withdrawn', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const seen = watch(queue, world)
    await queue.start()
    await queue.schedules.set('beat', TICK)
    await world.clock.advance('150s')
    expect(await queue.schedules.pause('beat')).toBe('paused')
    expect(await queue.schedules.pause('beat')).toBe('paused')
    await world.clock.advance('5m')
    expect(minutes(seen)).toEqual([1, 2])
    expect(await queue.schedules.get('beat')).toMatchObject({ state: 'paused', fired: 2, skipped: 5 })
    expect(await queue.schedules.resume('beat')).toBe('resumed')
    await world.clock.advance('3m')
    expect(minutes(seen)).toEqual([1, 2, 8, 9, 10])
    expect(await queue.schedules.pause('nobody')).toBe('missing')
    expect(await queue.schedules.resume('nobody')).toBe('missing')
  })

  it('removed, it fires no more; set again at once, nothing fires twice', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const seen = watch(queue, world)
    await queue.start()
    await queue.schedules.set('beat', TICK)
    await world.clock.advance('150s')
    expect(await queue.schedules.remove('beat')).toBe('removed')
    expect(await queue.schedules.remove('beat')).toBe('missing')
    expect((await queue.schedules.list()).items).toEqual([])
    await world.clock.advance('10m')
    expect(minutes(seen)).toEqual([1, 2])
    expect((await world.memory.inspect({ ids: [`${CONTROL_MARK}schedule:beat`] })).items).toEqual([])
    expect(await queue.schedules.set('beat', TICK)).toBe('created')
    expect(await queue.schedules.remove('beat')).toBe('removed')
    expect(await queue.schedules.set('beat', TICK)).toBe('created')
    await world.clock.advance('3m')
    expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length)
    expect(seen.length).toBeGreaterThanOrEqual(4)
  })

  it('spread: each occurrence later by a stable share, never earlier', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const late: number[] = []
    queue.handle('tick', ({ dueAt, id }) => void late.push(dueAt - Date.parse(id.slice(id.indexOf('@') + 1))))
    await queue.start()
    await queue.schedules.set('beat', { ...TICK, spread: '20s' })
    await world.clock.advance('30m')
    expect(Math.min(...late)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...late)).toBeLessThan(20_000)
    expect(new Set(late).size).toBeGreaterThan(20)
  })
})

describe('schedules: what callers say', () => {
  it.each([
    [{ topic: 't' }, 'OPTION_INVALID'],
    [{ topic: 't', cron: '* * * * *', every: '1m' }, 'OPTION_INVALID'],
    [{ topic: 't', every: '1m', zone: 'UTC' }, 'OPTION_INVALID'],
    [{ topic: 't', every: '10ms' }, 'OPTION_INVALID'],
    [{ topic: 't', cron: '* * *' }, 'CRON_INVALID'],
    [{ topic: 't', cron: '0 0 30 2 *' }, 'CRON_INVALID'],
    [{ topic: 't', cron: '* * * * *', zone: 'Moon' }, 'OPTION_INVALID'],
    [{ topic: '', every: '1m' }, 'TOPIC_INVALID'],
    [{ topic: 't', every: '1m', catchUp: 'many' }, 'OPTION_INVALID'],
    [{ topic: 't', every: '1m', catchUp: { all: '1h', max: 101 } }, 'OPTION_INVALID'],
    [{ topic: 't', every: '1m', times: 0 }, 'OPTION_INVALID'],
    [{ topic: 't', every: '1m', jitter: 5 }, 'OPTION_UNKNOWN'],
  ])('%j is refused with %s', async (spec, code) => {
    const queue = makeWorld().queue()
    await expect(queue.schedules.set('x', spec as unknown as ScheduleSpec)).rejects.toMatchObject({ code })
  })

  it('a name without braces and control characters', async () => {
    const queue = makeWorld().queue()
    for (const name of ['', 'a{b', '}', 'x'.repeat(151), '\u0001'])
      await expect(queue.schedules.set(name, TICK)).rejects.toMatchObject({ code: 'ID_INVALID' })
  })

  it('list shows one also while a worker looks at it, which takes it from state to state', async () => {
    const { memory, queue: make } = makeWorld()
    const queue = make()
    for (const name of ['a', 'b']) await queue.schedules.set(name, TICK)
    const inspect = memory.inspect.bind(memory)
    let passedOver = 3
    memory.inspect = async (query) => {
      const page = await inspect(query)
      if (page.items.length === 0 || passedOver === 0) return page
      passedOver -= 1
      return { ...page, items: page.items.slice(passedOver % 2, 1 + (passedOver % 2)) }
    }
    const { items } = await queue.schedules.list()
    expect(items.map(({ name }) => name).toSorted()).toEqual(['a', 'b'])
  })

  it('list shows them page by page, with last, next and counts; nextOccurrences need no schedule', async () => {
    const world = makeWorld()
    const queue = world.queue()
    watch(queue, world)
    await queue.start()
    for (const name of ['a', 'b', 'c']) await queue.schedules.set(name, { ...TICK, payload: name, ttl: '5m' })
    await world.clock.advance('90s')
    const names: string[] = []
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await queue.schedules.list({ limit: 2, ...(cursor === undefined ? {} : { cursor }) })
      names.push(...page.items.map(({ name }) => name))
      cursor = page.cursor
    }
    expect(names.toSorted()).toEqual(['a', 'b', 'c'])
    const [one] = (await queue.schedules.list()).items
    expect(one).toMatchObject({
      topic: 'tick',
      everyMs: MINUTE_MS,
      ttlMs: 300_000,
      nextAt: START + 2 * MINUTE_MS,
    })
    const spec = { topic: 'tick', cron: '0 9 * * MON', zone: 'Europe/Berlin' }
    const next = await queue.schedules.nextOccurrences(spec, 2)
    expect(next.map((at) => new Date(at).toISOString())).toEqual([
      '2030-01-07T08:00:00.000Z',
      '2030-01-14T08:00:00.000Z',
    ])
    expect(await queue.schedules.nextOccurrences('a', 1)).toEqual([START + 2 * MINUTE_MS])
    expect(await queue.schedules.nextOccurrences('nobody')).toEqual([])
  })
})

describe('P13: the worker with the schedule dies at any step', () => {
  type Death = { readonly verb: 'claim' | 'settle'; readonly kind: 'refuse' | 'lose' }

  it.each<Death>([
    { verb: 'claim', kind: 'refuse' },
    { verb: 'claim', kind: 'lose' },
    { verb: 'settle', kind: 'refuse' },
    { verb: 'settle', kind: 'lose' },
  ])('at its $verb ($kind): another goes on, and each occurrence fires once', async ({ verb, kind }) => {
    for (let step = 1; step <= 6; step += 1) {
      const world = makeWorld()
      const shared = world.memory
      const dying = new FaultyStore(shared, world.clock, { wakes: 'hint', shared: true })
      let calls = 0
      dying.fate = (called) => {
        if (called === verb) calls += 1
        // From this call on nothing of it reaches the store.
        if (calls < step) return undefined
        return calls === step && called === verb ? { kind } : { kind: 'refuse' }
      }
      const victim = world.queue({ store: dying })
      const heir = world.queue()
      const seen = [watch(victim, world), watch(heir, world)]
      await victim.start()
      await heir.schedules.set('beat', TICK)
      await world.clock.advance('30s')
      await heir.start()
      await world.clock.advance('10m')
      const firsts = seen.flat().map(({ id }) => id)
      expect(new Set(firsts).size, `step ${step}`).toBe(10)
      expect(await heir.schedules.get('beat')).toMatchObject({ skipped: 0 })
      dying.fate = () => undefined
    }
  })

  it('the clock of the store is set back over an occurrence: it fires no second time', async () => {
    const world = makeWorld()
    let setBackMs = 0
    const clock = { now: () => world.clock.now() - setBackMs, monotonic: () => world.clock.monotonic() }
    const store = new MemoryStore(clock as never)
    const queue = world.queue({ store: new FaultyStore(store, world.clock, { wakes: 'hint', shared: true }) })
    const ids: string[] = []
    queue.handle('tick', ({ id }) => void ids.push(id))
    await queue.start()
    await queue.schedules.set('beat', TICK)
    await world.clock.advance('150s')
    setBackMs = 10 * MINUTE_MS
    await world.clock.advance('20m')
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.length).toBeGreaterThanOrEqual(12)
    expect(await queue.schedules.get('beat')).toMatchObject({ skipped: 0 })
  })
})

describe('P13: who else is at it', () => {
  it('the store’s clock decides, however wrong that of the worker is', async () => {
    for (const offMs of [-3 * 3_600_000, 3 * 3_600_000]) {
      const world = makeWorld()
      const wrong: Clock = {
        now: () => world.clock.now() + offMs,
        monotonic: () => world.clock.monotonic(),
        schedule: (ms, run) => world.clock.schedule(ms, run),
        soon: (run) => world.clock.soon(run),
      }
      const queue = world.queue({ clock: wrong })
      const seen = watch(queue, world)
      await queue.start()
      await queue.schedules.set('beat', TICK)
      await world.clock.advance('10m')
      expect(minutes(seen)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    }
  })

  it('an edit that was made from an older state does not bring back what has fired meanwhile', async () => {
    const world = makeWorld()
    const queue = world.queue()
    const seen = watch(queue, world)
    const slow = new FaultyStore(world.memory, world.clock)
    const put = slow.put.bind(slow)
    let isSlow = true
    slow.put = async (messages) => {
      // The worker goes on between the look of the editor and its change.
      if (isSlow) await world.clock.advance('5m')
      isSlow = false
      return put(messages)
    }
    const editor = world.queue({ store: slow })
    await queue.start()
    await queue.schedules.set('beat', TICK)
    await world.clock.advance('90s')
    expect(await editor.schedules.set('beat', { ...TICK, payload: 'new' })).toBe('changed')
    await world.clock.advance('5m')
    expect(minutes(seen)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  })
})
