/** A partition that is away is named by every verb of people and by every door: never a number that silently lacks it. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { COMMANDS, type CommandName } from '../../src/doors/cli/commands.ts'
import { systemClock } from '../../src/clock.ts'
import { Punctual } from '../../src/index.ts'
import { runCommandHere, type Ended } from '../cli/in-process.ts'
import { AWAY, makeGapped } from './gapped.ts'
import { makeStand, QUEUE } from './http/stand.ts'

async function gappedQueue(): Promise<{ readonly queue: Punctual; readonly hidden: readonly string[] }> {
  const { store, hidden, sendAway } = await makeGapped()
  const queue = new Punctual({ store, logger: false })
  onTestFinished(() => void queue.stop({ timeout: 0 }))
  await queue.stats()
  sendAway()
  return { queue, hidden }
}

async function run(name: CommandName, words: readonly string[], queue: Punctual): Promise<Ended> {
  return runCommandHere(await COMMANDS[name](), words, { queue, clock: systemClock, columns: 100 })
}

describe('the library', () => {
  it('what looks at everything is answered, and names it', async () => {
    const { queue } = await gappedQueue()
    const answers = {
      stats: await queue.stats(),
      list: await queue.list(),
      byTag: await queue.list({ tag: 'red' }),
      forecast: await queue.forecast({ until: '2h', bars: 4 }),
      workers: await queue.workers(),
      schedules: await queue.schedules.list(),
    }
    for (const [name, { missing }] of Object.entries(answers)) expect(missing, name).toEqual([AWAY])
    const { counts } = answers.stats
    expect(counts.delayed + counts.ready).toBe(answers.list.items.length)
  })

  it('what changes by a filter does the rest, and rejects naming it', async () => {
    const { queue, hidden } = await gappedQueue()
    const rejects = { code: 'STORE_PARTIAL', value: [AWAY] }
    await expect(queue.reschedule({ topic: 't' }, { delay: '2h' })).rejects.toMatchObject(rejects)
    await expect(queue.cancel({ tag: 'red' })).rejects.toMatchObject(rejects)
    await expect(queue.revive({ state: 'dead' })).rejects.toMatchObject(rejects)
    await expect(queue.purge({ state: 'dead' })).rejects.toMatchObject(rejects)
    await expect(queue.pause('t')).rejects.toMatchObject(rejects)
    await expect(queue.resume('t')).rejects.toMatchObject(rejects)
    expect((await queue.list()).items).toEqual([])
    expect(hidden.length).toBeGreaterThan(0)
  })

  it('what names ids is answered whole or rejects; a doctor tells it as a problem', async () => {
    const { queue, hidden } = await gappedQueue()
    const [id = ''] = hidden
    for (const ask of [() => queue.get(id), () => queue.cancel(id), () => queue.why(id)])
      await expect(ask()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(queue.cancel({ ids: ['m0', 'm1', 'm2', 'm3', id] })).rejects.toMatchObject({
      code: 'STORE_PARTIAL',
      value: [id],
    })
    const findings = await queue.doctor()
    expect(findings.find(({ level }) => level === 'problem')?.what).toContain(AWAY)
  })

  it('a limit stays unsupported over partitions', async () => {
    const { queue } = await gappedQueue()
    await expect(queue.limit('t', { rate: '1/1s' })).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  })
})

describe('the command line', () => {
  it.each<readonly [CommandName, readonly string[]]>([
    ['list', []],
    ['list', ['--all']],
    ['list', ['--tag', 'red']],
    ['dead', []],
    ['stats', []],
    ['upcoming', []],
    ['workers', []],
    ['schedule', ['list']],
  ])('%s %j: a line on stderr, and a field in --json', async (name, words) => {
    const { queue } = await gappedQueue()
    const shown = await run(name, words, queue)
    expect([shown.code, shown.stderr]).toEqual([0, expect.stringContaining(`${AWAY} did not answer`)])
    const { stdout, stderr } = await run(name, [...words, '--json'], queue)
    expect(stderr).toContain(`${AWAY} did not answer`)
    const documents = stdout.split('\n').filter((line) => line !== '')
    for (const document of documents) expect(JSON.parse(document)).toMatchObject({ missing: [AWAY] })
    // Each worker is a document of its own, and here is none.
    expect(documents.length).toBe(name === 'workers' ? 0 : 1)
  })
})

describe('over HTTP', () => {
  it.each([
    'stats',
    'topics/t',
    'forecast?until=2h',
    'figures',
    'workers',
    'messages',
    'messages?tag=red',
    'schedules',
    'dead',
  ])('GET %s names it', async (path) => {
    const { store, sendAway } = await makeGapped()
    const { call } = await makeStand({}, { store })
    expect((await call('GET', `${QUEUE}/stats?topics=t`)).json).not.toHaveProperty('missing')
    sendAway()
    expect((await call('GET', `${QUEUE}/${path}`)).json.missing).toEqual([AWAY])
  })
})
