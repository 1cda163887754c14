/** The small parts of the chaos suite: the plan, the logs, the growth. */
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Log } from '../../chaos/children/log.mjs'
import { judgeGrowth, measureGrowth } from '../../chaos/flatness.ts'
import type { Line } from '../../chaos/lines.ts'
import { readLogs } from '../../chaos/logs.ts'
import { planFaults } from '../../chaos/plan.ts'
import { gather } from '../../chaos/stories.ts'

const STORM = { seed: 7, stormMs: 60_000, engineFaults: { 'kill server': 1, cut: 2 }, engineGapMs: 4_000 }

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'punctual-logs-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

function samples(heapAt: (index: number) => number): Line[] {
  return Array.from({ length: 100 }, (_, i) => ({
    what: 'sample' as const,
    who: 'worker-1.1',
    at: i * 5_000,
    heap: heapAt(i),
  }))
}

describe('the plan of a storm', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(planFaults(STORM)).toEqual(planFaults(STORM))
    expect(planFaults({ ...STORM, seed: 8 })).not.toEqual(planFaults(STORM))
  })

  it('has faults of both kinds, in order, within the storm', () => {
    const plan = planFaults(STORM)
    const moments = plan.map(({ afterMs }) => afterMs)
    expect(moments).toEqual(moments.toSorted((a, b) => a - b))
    expect(moments.every((afterMs) => afterMs > 0 && afterMs < STORM.stormMs)).toBe(true)
    const kinds = new Set(plan.map(({ kind }) => kind))
    expect([...kinds]).toEqual(expect.arrayContaining(['kill server', 'cut', 'kill worker', 'freeze worker']))
  })

  it('does without an engine that nothing can be done to', () => {
    const kinds = planFaults({ ...STORM, engineFaults: {} }).map(({ kind }) => kind)
    expect(kinds).toContain('kill worker')
    expect(kinds).not.toContain('cut')
  })
})

describe('logs', () => {
  it('what was written is read, with the time and the name of its writer', async () => {
    const place = await directory()
    const log = new Log(join(place, 'worker-1.1.log'))
    log.writeSoon({ what: 'stopping', first: true })
    log.write({ what: 'stopping', at: 5 })
    log.close()
    const lines = await readLogs(place)
    expect(lines).toMatchObject([
      { who: 'worker-1.1', first: true },
      { who: 'worker-1.1', at: 5 },
    ])
    expect(lines[0]?.at).toBeGreaterThan(1e12)
  })

  it('a last line that a kill tore off is left out; one in the middle is an error', async () => {
    const place = await directory()
    const path = join(place, 'worker-1.1.log')
    await writeFile(path, '{"at":1,"what":"stopping"}\n{"at":2,"wh')
    expect(await readLogs(place)).toHaveLength(1)
    await appendFile(path, '\n{"at":3,"what":"stopping"}\n')
    await expect(readLogs(place)).rejects.toThrow(/in the middle/)
  })
})

describe('growth', () => {
  it('a heap that grows all the time is found, one that jumps about is not', () => {
    const leaking = measureGrowth(gather(samples((i) => 1e7 + i * 2e5)))
    expect(judgeGrowth(leaking)).toEqual([expect.objectContaining({ promise: 'soak', about: 'worker-1.1' })])
    const steady = measureGrowth(gather(samples((i) => 1e7 + (i % 7) * 1e6)))
    expect(steady).toHaveLength(1)
    expect(judgeGrowth(steady)).toEqual([])
  })

  it('what lived for a short time is not judged', () => {
    expect(measureGrowth(gather(samples((i) => i).slice(0, 20)))).toEqual([])
  })
})
