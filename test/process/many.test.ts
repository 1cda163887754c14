/** Many real processes on one queue, and what happens when some of them die. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Punctual } from '../../src/index.ts'
import { until } from '../store/redis/until.ts'
import { Child } from './child.ts'
import { describeCrowds, look, QUEUE, said, startsOf, whenEmpty } from './crowd.ts'
import { SHARED_ENGINES } from './engines.ts'

describeCrowds(() => ({ workers: 8, perProducer: 700 }))

describe.each(SHARED_ENGINES)('many processes on $name', ({ open }) => {
  it('P2, P6: a worker killed in the handler: another one runs the message, with the attempt counted', async () => {
    const store = await open()
    const options = { lease: '1s', fallback: '500ms', retry: { delays: ['100ms'] } }
    const victim = new Child('work.mjs', { store, queue: QUEUE, slowMs: 600_000, options })
    await victim.said('ready')
    await look(store, (queue) => queue.produce('t', 1, { id: 'x' }))
    expect(await victim.said('start')).toMatchObject({ start: 'x', attempt: 1 })
    const heir = new Child('work.mjs', { store, queue: QUEUE, options })
    await heir.said('ready')
    await victim.kill('SIGKILL')
    expect(await heir.said('start')).toMatchObject({ start: 'x', attempt: 2 })
    await heir.said('completed')
    await whenEmpty(store)
  })

  it('P4: a worker stopped (SIGSTOP) through its lease cannot complete what another has taken over', async () => {
    const store = await open()
    const options = { lease: '1s', fallback: '500ms', retry: { delays: ['100ms'] } }
    const sleeper = new Child('work.mjs', { store, queue: QUEUE, slowMs: 1_500, options })
    await sleeper.said('ready')
    await look(store, (queue) => queue.produce('t', 1, { id: 'x' }))
    await sleeper.said('start')
    sleeper.signal('SIGSTOP')
    const heir = new Child('work.mjs', { store, queue: QUEUE, slowMs: 3_000, options })
    expect(await heir.said('start')).toMatchObject({ start: 'x', attempt: 2 })
    sleeper.signal('SIGCONT')
    await sleeper.said('end')
    await heir.said('completed')
    await whenEmpty(store)
    expect(said(sleeper, 'completed')).toEqual([])
  })

  it('P2, P8: a producer killed in the middle: what it was promised is there, and each batch whole or not at all', async () => {
    const store = await open()
    const producer = new Child('produce.mjs', {
      store,
      queue: QUEUE,
      prefix: 'p',
      count: 1_000_000,
      batch: 50,
    })
    await until('some batches were accepted', () => said(producer, 'accepted').length >= 1_000)
    await producer.kill('SIGKILL')
    const accepted = new Set(said(producer, 'accepted'))
    const offered = new Set(said(producer, 'offered'))
    const stored = await look(store, allIds)
    expect(new Set(stored).size).toBe(stored.length)
    for (const id of accepted) expect(stored).toContain(id)
    for (const id of stored) expect(offered.has(id)).toBe(true)
    expect(stored.length % 50).toBe(0)
  })

  it('P1, P2: produced, killed, restarted: what is past comes at once, what is to come comes on time', async () => {
    const store = await open()
    const producer = new Child('produce.mjs', {
      store,
      queue: QUEUE,
      prefix: 'p',
      count: 1_000,
      batch: 500,
      spreadMs: 6_000,
    })
    await until('all were accepted', () => said(producer, 'accepted').length === 1_000)
    await producer.kill('SIGKILL')
    await new Promise((resolve) => setTimeout(resolve, 2_000)) // Some moments pass while nobody is there.
    const worker = new Child('work.mjs', { store, queue: QUEUE })
    await until('all were started', () => startsOf([worker]).length === 1_000)
    const starts = worker.lines.filter((line) => 'start' in line)
    expect(new Set(starts.map((line) => line['start'])).size).toBe(1_000)
    expect(starts.filter((line) => Number(line['earlyMs']) > 0)).toEqual([])
    await whenEmpty(store)
  })

  it('P2: workers killed again and again: every message was run, or is still there', async () => {
    const store = await open()
    const directory = await mkdtemp(join(tmpdir(), 'punctual-journal-'))
    onTestFinished(() => rm(directory, { recursive: true, force: true }))
    const journal = join(directory, 'journal')
    await writeFile(journal, '')
    const ids = Array.from({ length: 3_000 }, (_, i) => `m${i}`)
    await look(store, (queue) =>
      queue.produceMany(ids.map((id, i) => ({ topic: 't', payload: null, id, delay: i % 1_500 }))),
    )
    for (let round = 0; round < 8; round += 1) {
      const worker = new Child('journal.mjs', { store, queue: QUEUE, journal })
      await worker.said('ready')
      await new Promise((resolve) => setTimeout(resolve, (round * 53) % 200))
      await worker.kill('SIGKILL')
      const run = new Set((await readFile(journal, 'utf8')).split('\n'))
      const kept = new Set(await look(store, allIds))
      expect(ids.filter((id) => !run.has(id) && !kept.has(id))).toEqual([])
    }
    const last = new Child('journal.mjs', { store, queue: QUEUE, journal })
    await last.said('ready')
    await whenEmpty(store)
    const run = new Set((await readFile(journal, 'utf8')).trim().split('\n'))
    expect(run.size).toBe(ids.length)
  })
})

// Each is a lease of fifteen seconds: side by side.
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
