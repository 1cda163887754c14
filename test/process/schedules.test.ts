/** P13 with real processes: whoever lives fires, and each occurrence becomes one message, however many are killed. */
import { describe, it } from 'vitest'
import { Punctual } from '../../src/index.ts'
import { until } from '../store/redis/until.ts'
import { Child } from './child.ts'
import { SHARED_ENGINES } from './engines.ts'

const QUEUE = 'recurring'
const PROCESSES = 8
const TIMES = 12
// More retries than kills: a message that loses several workers is not to end as a dead letter.
const OPTIONS = { lease: '1s', fallback: '500ms', retry: { limit: 30, delays: ['100ms'] } }

// Most of it is seconds that pass: the engines are tried side by side.
describe.concurrent.each(SHARED_ENGINES)('schedules on $name', ({ open }) => {
  it(`P13: every second, ${PROCESSES} processes, one of them killed again and again: each occurrence once`, async ({
    expect,
    onTestFinished,
  }) => {
    const store = await open(onTestFinished)
    const born: Child[] = []
    const bear = (): Child => {
      const child = new Child('work.mjs', { store, queue: QUEUE, options: OPTIONS }, onTestFinished)
      born.push(child)
      return child
    }
    const living = Array.from({ length: PROCESSES }, bear)
    await Promise.all(living.map((child) => child.said('ready')))
    const queue = new Punctual({ store, queue: QUEUE, logger: false })
    const spec = { topic: 't', every: '1s', times: TIMES, catchUp: { all: '1h' } } as const
    expect(await queue.schedules.set('beat', spec)).toBe('created')
    const starts = (): { id: string; attempt: number }[] =>
      born.flatMap(({ lines }) =>
        lines
          .filter((line) => 'start' in line)
          .map((line) => ({ id: String(line['start']), attempt: Number(line['attempt']) })),
      )
    const ids = (): Set<string> => new Set(starts().map(({ id }) => id))
    while (ids().size < TIMES) {
      const victim = living.shift()
      await victim?.kill('SIGKILL')
      const heir = bear()
      living.push(heir)
      const seen = ids().size
      await Promise.all([
        heir.said('ready'),
        until('one more', () => ids().size > seen || ids().size === TIMES),
      ])
    }
    await until('all are done', async () => Object.values((await queue.stats()).counts).every((n) => n === 0))
    expect(ids().size).toBe(TIMES)
    // A message that was made twice would begin with its first attempt twice.
    const firsts = starts().filter(({ attempt }) => attempt === 1)
    expect(new Set(firsts.map(({ id }) => id)).size).toBe(firsts.length)
    expect(await queue.schedules.get('beat')).toMatchObject({ state: 'ended', fired: TIMES, skipped: 0 })
    await queue.stop()
  }, 180_000)

  it('P13: an edit while it runs: nothing fires twice, and the new payload follows', async ({
    expect,
    onTestFinished,
  }) => {
    const store = await open(onTestFinished)
    const child = new Child('work.mjs', { store, queue: QUEUE, options: OPTIONS }, onTestFinished)
    await child.said('ready')
    const queue = new Punctual({ store, queue: QUEUE, logger: false })
    for (let version = 0; version < 20; version += 1)
      await queue.schedules.set('beat', { topic: 't', payload: version, every: '1s', times: 5 })
    const starts = (): string[] =>
      child.lines.filter((line) => 'start' in line).map((line) => String(line['start']))
    await until('all have fired', () => starts().length >= 5)
    await until('it has ended', async () => (await queue.schedules.get('beat'))?.state === 'ended')
    expect(new Set(starts()).size).toBe(5)
    expect(starts()).toHaveLength(5)
    await queue.stop()
  })

  it('P13: paused and resumed, removed and set again: it misses nothing but what fell into those moments', async ({
    expect,
    onTestFinished,
  }) => {
    const queue = new Punctual({ store: await open(onTestFinished), queue: QUEUE, logger: false })
    const fired: number[] = []
    queue.handle('t', ({ dueAt }) => void fired.push(dueAt))
    await queue.start()
    const spec = { topic: 't', cron: '* * * * * *' } as const
    const gaps: { readonly from: number; readonly to: number }[] = []
    const inGap = async (edit: () => Promise<unknown>): Promise<void> => {
      const [from, seen] = [Date.now(), fired.length]
      await edit()
      gaps.push({ from, to: Date.now() })
      await until('it fires again', () => fired.length >= seen + 2)
    }
    await inGap(() => queue.schedules.set('beat', spec))
    await inGap(async () => {
      await queue.schedules.pause('beat')
      await queue.schedules.resume('beat')
    })
    await inGap(async () => {
      await queue.schedules.remove('beat')
      await queue.schedules.set('beat', spec)
    })
    await inGap(() => queue.schedules.set('beat', { ...spec, cron: '*/2 * * * * *' }))
    await inGap(() => queue.schedules.set('beat', spec))
    await queue.stop()
    const last = Math.max(...fired)
    const missing: number[] = []
    for (let at = Math.min(...fired); at < last; at += 1_000) if (!fired.includes(at)) missing.push(at)
    const everyOther = gaps[3]
    const isExcused = (at: number): boolean =>
      gaps.some(({ from, to }) => at >= from && at <= to) ||
      (everyOther !== undefined && at > everyOther.from && at < (gaps[4]?.to ?? 0) && at % 2_000 !== 0)
    expect(missing.filter((at) => !isExcused(at))).toEqual([])
    expect(new Set(fired).size).toBe(fired.length)
  })
})
