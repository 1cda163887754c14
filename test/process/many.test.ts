/** Many real processes on one queue, and what happens when some of them die. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import type { Punctual } from '../../src/index.ts'
import { until } from '../store/redis/until.ts'
import { Child } from './child.ts'
import { describeCrowds, look, QUEUE, said, startsOf, whenEmpty } from './crowd.ts'
import { SHARED_ENGINES } from './engines.ts'

// More of both: `crowds.long.test.ts`.
describeCrowds(() => ({ workers: 5, perProducer: 700 }))

// Most of it is time that passes: side by side.
describe.concurrent.each(SHARED_ENGINES)('many processes on $name', ({ open }) => {
  it('P2, P6: a worker killed in the handler: another one runs the message, with the attempt counted', async (test) => {
    const store = await open(test.onTestFinished)
    const options = { lease: '1s', fallback: '500ms', retry: { delays: ['100ms'] } }
    const victim = new Child(
      'work.mjs',
      { store, queue: QUEUE, slowMs: 600_000, options },
      test.onTestFinished,
    )
    await victim.said('ready')
    await look(store, (queue) => queue.produce('t', 1, { id: 'x' }))
    test.expect(await victim.said('start')).toMatchObject({ start: 'x', attempt: 1 })
    const heir = new Child('work.mjs', { store, queue: QUEUE, options }, test.onTestFinished)
    await heir.said('ready')
    await victim.kill('SIGKILL')
    test.expect(await heir.said('start')).toMatchObject({ start: 'x', attempt: 2 })
    await heir.said('completed')
    await whenEmpty(store)
  })

  it('P4: a worker stopped (SIGSTOP) through its lease cannot complete what another has taken over', async (test) => {
    const store = await open(test.onTestFinished)
    const options = { lease: '1s', fallback: '500ms', retry: { delays: ['100ms'] } }
    const sleeper = new Child(
      'work.mjs',
      { store, queue: QUEUE, slowMs: 1_500, options },
      test.onTestFinished,
    )
    await sleeper.said('ready')
    await look(store, (queue) => queue.produce('t', 1, { id: 'x' }))
    await sleeper.said('start')
    sleeper.signal('SIGSTOP')
    const heir = new Child('work.mjs', { store, queue: QUEUE, slowMs: 3_000, options }, test.onTestFinished)
    test.expect(await heir.said('start')).toMatchObject({ start: 'x', attempt: 2 })
    sleeper.signal('SIGCONT')
    await sleeper.said('end')
    await whenEmpty(store)
    // On a machine that stands still it may take its turn again, as a later attempt.
    test.expect(sleeper.lines).not.toContainEqual({ completed: 'x', attempt: 1 })
    const completed = (): number =>
      [...sleeper.lines, ...heir.lines].filter((line) => 'completed' in line).length
    await until('its end was told', () => completed() > 0)
    test.expect(completed()).toBe(1)
  })

  it('P2, P8: a producer killed in the middle: what it was promised is there, and each batch whole or not at all', async (test) => {
    const store = await open(test.onTestFinished)
    const producer = new Child(
      'produce.mjs',
      { store, queue: QUEUE, prefix: 'p', count: 1_000_000, batch: 50 },
      test.onTestFinished,
    )
    await until('some batches were accepted', () => said(producer, 'accepted').length >= 1_000)
    await producer.kill('SIGKILL')
    const accepted = new Set(said(producer, 'accepted'))
    const offered = new Set(said(producer, 'offered'))
    const stored = await look(store, allIds)
    const kept = new Set(stored)
    test.expect(kept.size).toBe(stored.length)
    test.expect([...accepted].filter((id) => !kept.has(id))).toEqual([])
    test.expect(stored.filter((id) => !offered.has(id))).toEqual([])
    test.expect(stored.length % 50).toBe(0)
  })

  it('P1, P2: produced, killed, restarted: what is past comes at once, what is to come comes on time', async (test) => {
    const store = await open(test.onTestFinished)
    const producer = new Child(
      'produce.mjs',
      { store, queue: QUEUE, prefix: 'p', count: 1_000, batch: 500, spreadMs: 6_000 },
      test.onTestFinished,
    )
    await until('all were accepted', () => said(producer, 'accepted').length === 1_000)
    await producer.kill('SIGKILL')
    await new Promise((resolve) => setTimeout(resolve, 2_000)) // Some moments pass while nobody is there.
    const worker = new Child('work.mjs', { store, queue: QUEUE }, test.onTestFinished)
    await until('all were started', () => startsOf([worker]).length === 1_000)
    const starts = worker.lines.filter((line) => 'start' in line)
    test.expect(new Set(starts.map((line) => line['start'])).size).toBe(1_000)
    test.expect(starts.filter((line) => Number(line['earlyMs']) > 0)).toEqual([])
    await whenEmpty(store)
  })

  it('P2: workers killed again and again: every message was run, or is still there', async (test) => {
    const store = await open(test.onTestFinished)
    const directory = await mkdtemp(join(tmpdir(), 'punctual-journal-'))
    test.onTestFinished(() => rm(directory, { recursive: true, force: true }))
    const journal = join(directory, 'journal')
    await writeFile(journal, '')
    const ids = Array.from({ length: 3_000 }, (_, i) => `m${i}`)
    await look(store, (queue) =>
      queue.produceMany(ids.map((id, i) => ({ topic: 't', payload: null, id, delay: i % 1_500 }))),
    )
    for (let round = 0; round < 5; round += 1) {
      const worker = new Child('journal.mjs', { store, queue: QUEUE, journal }, test.onTestFinished)
      await worker.said('ready')
      await new Promise((resolve) => setTimeout(resolve, (round * 83) % 200))
      await worker.kill('SIGKILL')
      const run = new Set((await readFile(journal, 'utf8')).split('\n'))
      const kept = new Set(await look(store, allIds))
      test.expect(ids.filter((id) => !run.has(id) && !kept.has(id))).toEqual([])
    }
    const last = new Child('journal.mjs', { store, queue: QUEUE, journal }, test.onTestFinished)
    await last.said('ready')
    await whenEmpty(store)
    const run = new Set((await readFile(journal, 'utf8')).trim().split('\n'))
    test.expect(run.size).toBe(ids.length)
  })
})

// Each is a lease of fifteen seconds.
it.concurrent.for(SHARED_ENGINES)(
  'P6: with default settings the next attempt comes within 20 s of a kill -9, on $name',
  async ({ open }, test) => {
    const store = await open(test.onTestFinished)
    const bear = (): Child =>
      new Child('work.mjs', { store, queue: QUEUE, slowMs: 600_000 }, test.onTestFinished)
    const victim = bear()
    await victim.said('ready')
    await look(store, (queue) => queue.produce('t', 1, { id: 'x' }))
    await victim.said('start')
    await victim.kill('SIGKILL')
    const started = await bear().said('start')
    test.expect(started).toMatchObject({ start: 'x', attempt: 2 })
    // Ten more for a machine that stands still.
    test.expect(started['latenessMs']).toBeLessThan(30_000)
  },
)

async function allIds(queue: Punctual): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const page = await queue.list({ limit: 1_000, ...(cursor === undefined ? {} : { cursor }) })
    ids.push(...page.items.map(({ id }) => id))
    cursor = page.cursor
  } while (cursor !== undefined)
  return ids
}
