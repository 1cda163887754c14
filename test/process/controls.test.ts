/** P14 with real processes on one queue: pauses that race with claims, limits that change, workers that die. */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest'
import { Punctual } from '../../src/index.ts'
import { IN_ORDER, MIXED } from '../runtime/mixed.ts'
import { until } from '../store/redis/until.ts'
import { Child, type Line } from './child.ts'
import { SHARED_ENGINES } from './engines.ts'

const QUEUE = 'controlled'
const PROCESSES = 8
/** Enough of them for more slots than the limits of these tests. */
const FEWER = 4

type Start = { readonly at: number }
type Span = { readonly from: number; readonly until: number }

function startsOf(workers: readonly Child[]): Start[] {
  return workers.flatMap(({ lines }) =>
    lines.filter((line) => 'start' in line).map((line) => ({ at: Number(line['at']) })),
  )
}

/** What a worker started after it had said, beyond its first `from` lines, that the topic is paused. */
function startsAfterPause({ lines }: Child, from: number): Line[] {
  const pausedAt = lines.findIndex((line, at) => at >= from && 'paused' in line)
  return pausedAt === -1 ? [] : lines.slice(pausedAt).filter((line) => 'start' in line)
}

/** From start to end; what has not ended goes on. */
function spansOf({ lines }: Child): Span[] {
  const ends = new Map(lines.filter((line) => 'end' in line).map((line) => [line['end'], Number(line['at'])]))
  return lines
    .filter((line) => 'start' in line)
    .map((line) => ({ from: Number(line['at']), until: ends.get(line['start']) ?? Infinity }))
}

/** The most that ran at once, since a moment. */
function mostAtOnce(spans: readonly Span[], from = 0): number {
  const within = spans.filter((span) => span.from >= from)
  return Math.max(
    0,
    ...within.map(({ from: at }) => spans.filter((span) => span.from <= at && span.until > at).length),
  )
}

async function withQueue<T>(store: string, work: (queue: Punctual) => Promise<T>): Promise<T> {
  const queue = new Punctual({ store, queue: QUEUE, logger: false })
  try {
    return await work(queue)
  } finally {
    await queue.stop()
  }
}

async function startWorkers(
  { onTestFinished: onEnd }: Pick<TestContext, 'onTestFinished'>,
  store: string,
  options: object,
  count = PROCESSES,
): Promise<Child[]> {
  const workers = Array.from(
    { length: count },
    () => new Child('controlled.mjs', { store, queue: QUEUE, ...options }, onEnd),
  )
  await Promise.all(workers.map((worker) => worker.said('ready')))
  return workers
}

async function produce(queue: Punctual, count: number): Promise<void> {
  for (let from = 0; from < count; from += 1_000)
    await queue.produceMany(Array.from({ length: Math.min(1_000, count - from) }, () => ({ topic: 't' })))
}

describe.each(SHARED_ENGINES)('P14: several processes on $name', ({ open }) => {
  // The 250 ms themselves are judged by the simulator, whose machine never stands still.
  it(`a pause that races with the claims of ${PROCESSES}: who has heard of it starts nothing, and soon nothing runs`, async () => {
    const store = await open()
    const workers = await startWorkers({ onTestFinished }, store, { slowMs: 5, options: { concurrency: 4 } })
    await withQueue(store, async (queue) => {
      for (let round = 0; round < 5; round += 1) {
        await produce(queue, 5_000)
        const before = startsOf(workers).length
        await until('they are at work', () => startsOf(workers).length > before + 20)
        const saidBefore = workers.map(({ lines }) => lines.length)
        await queue.pause('t')
        await until('nothing runs', async () => (await queue.stats()).counts.running === 0)
        await until('all have heard of it', () =>
          workers.every(({ lines }, at) => lines.slice(saidBefore[at]).some((line) => 'paused' in line)),
        )
        expect(workers.flatMap((worker, at) => startsAfterPause(worker, saidBefore[at] ?? 0))).toEqual([])
        expect((await queue.stats()).counts.running).toBe(0)
        const after = startsOf(workers).length
        await queue.resume('t')
        await until('they go on', () => startsOf(workers).length > after)
        await until('all have heard that they may', () =>
          workers.every(({ lines }, at) => lines.slice(saidBefore[at]).some((line) => 'resumed' in line)),
        )
      }
    })
  }, 240_000)
})

// Most of it is time that passes: side by side.
describe.concurrent.each(SHARED_ENGINES)('P14: some processes on $name', ({ open }) => {
  it('a limit that is lowered while more run: nothing starts until enough have ended', async (test) => {
    const store = await open(test.onTestFinished)
    await withQueue(store, async (queue) => {
      await queue.limit('t', { concurrency: 12 })
      const workers = await startWorkers(test, store, { slowMs: 300, options: { concurrency: 4 } }, FEWER)
      await produce(queue, 400)
      await until('twelve run', () => startsOf(workers).length >= 24)
      await queue.limit('t', { concurrency: 3 })
      const before = startsOf(workers).length
      // What had been handed out before may have been on its way: at most twelve.
      await until('many started under the lower limit', () => startsOf(workers).length >= before + 24)
      const spans = workers.flatMap(spansOf)
      test.expect(mostAtOnce(spans)).toBeLessThanOrEqual(12)
      const [lastOnes = 0] = spans
        .map(({ from }) => from)
        .toSorted((a, b) => a - b)
        .slice(-12)
      test.expect(mostAtOnce(spans, lastOnes)).toBeLessThanOrEqual(3)
      await queue.limit('t', null)
      await until('all of their slots are used', () => mostAtOnce(workers.flatMap(spansOf)) > 12)
    })
  }, 240_000)

  it('a worker with all places is killed: they return with its leases', async (test) => {
    const store = await open(test.onTestFinished)
    // Long enough that a busy machine does not end it.
    const options = { lease: '5s', fallback: '500ms', concurrency: 4 }
    await withQueue(store, async (queue) => {
      await queue.limit('t', { concurrency: 4 })
      const [victim] = await startWorkers(test, store, { slowMs: 600_000, options }, 1)
      if (victim === undefined) throw new Error('there is one')
      await produce(queue, 12)
      await until('it has all places', () => startsOf([victim]).length === 4)
      const others = await startWorkers(test, store, { slowMs: 100, options }, FEWER - 1)
      test.expect(startsOf(others)).toEqual([])
      await victim.kill('SIGKILL')
      await until('the others do all of it', () => startsOf(others).length === 12)
      test.expect(mostAtOnce(others.flatMap(spansOf))).toBeLessThanOrEqual(4)
    })
  }, 240_000)

  it('a pause and a limit survive all of them', async (test) => {
    const store = await open(test.onTestFinished)
    await withQueue(store, async (queue) => {
      await queue.pause('t')
      await queue.limit('t', { concurrency: 2 })
      await produce(queue, 20)
    })
    const workers = await startWorkers(test, store, { slowMs: 20 }, 2)
    await Promise.all(workers.map((worker) => worker.said('paused')))
    for (const worker of workers) await worker.kill('SIGKILL')
    test.expect(startsOf(workers)).toEqual([])
    const heirs = await startWorkers(test, store, { slowMs: 20 }, 2)
    await withQueue(store, async (queue) => {
      test
        .expect((await queue.stats()).controls)
        .toEqual([{ topic: 't', paused: {}, limit: { concurrency: 2 } }])
      await queue.resume('t')
    })
    await until('all is done', () => startsOf(heirs).length === 20)
    test.expect(mostAtOnce(heirs.flatMap(spansOf))).toBeLessThanOrEqual(2)
  }, 240_000)
})

describe.each(SHARED_ENGINES)('P7: $name', ({ open }) => {
  it('pause, produce and resume in quick succession: what starts then starts in order', async () => {
    const queue = new Punctual({ store: await open(), concurrency: 1, logger: false })
    const started: unknown[] = []
    queue.handle('t', async ({ payload }) => {
      started.push(payload)
      await sleep(30) // Slow enough that nothing is fetched ahead.
    })
    await queue.start()
    const rounds = 15
    for (let round = 0; round < rounds; round += 1) {
      await queue.pause('t')
      await queue.produceMany(MIXED)
      await queue.resume('t')
      await until('all have run', () => started.length === (round + 1) * MIXED.length)
    }
    await queue.stop()
    expect(started).toEqual(Array.from({ length: rounds }, () => IN_ORDER).flat())
  })
})
