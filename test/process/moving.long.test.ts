/** `punctual move`, killed with SIGKILL while it copies and while it removes, and called again. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { Punctual } from '../../src/index.ts'
import { insidesOf } from '../../src/queue/insides.ts'
import type { StateCounts, Store } from '../../src/store/contract/store.ts'
import { takeCensus } from '../../src/testing/index.ts'
import { BINARY } from '../cli/punctual.ts'
import { fill, idsIn, see } from '../queue/moving/content.ts'
import { SHARED_ENGINES, type SharedEngine } from './engines.ts'

const MESSAGES = 4_000

const waiting = ({ delayed, ready }: StateCounts): number => delayed + ready

async function storeAt(url: string): Promise<{ readonly store: Store; readonly queue: Punctual }> {
  const queue = new Punctual({ store: url, logger: false })
  return { queue, store: await insidesOf(queue).open() }
}

type Ended = { readonly code: number | null; readonly signal: NodeJS.Signals | null; readonly out: string }

/** `isTime`: when to kill it. */
async function runMove(from: string, to: string, isTime?: () => Promise<boolean>): Promise<Ended> {
  const child = spawn(process.execPath, [BINARY, 'move', '--from', from, '--to', to, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let out = ''
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
  if (isTime !== undefined) {
    while (child.exitCode === null && !(await isTime())); // The question itself takes its time.
    child.kill('SIGKILL')
  }
  const [code, signal] = await ended
  return { code, signal, out }
}

const [redis, postgres, file] = SHARED_ENGINES as readonly [SharedEngine, SharedEngine, SharedEngine]

describe.each([
  [file, redis],
  [redis, postgres],
  [postgres, file],
])('$name', (fromEngine, toEngine) => {
  it(`to ${toEngine.name}: killed twice, nothing is lost or doubled`, async () => {
    const [from, to] = [await fromEngine.open(), await toEngine.open()]
    const [source, target] = [await storeAt(from), await storeAt(to)]
    await fill(source.store, MESSAGES)
    const before = await see(source.store)
    const arrived = async (): Promise<number> => waiting((await target.store.count()).states)
    const left = async (): Promise<number> => waiting((await source.store.count()).states)
    const moments = [async () => (await arrived()) > 0, async () => (await left()) < MESSAGES]
    let kills = 0
    for (const isTime of moments) {
      const { signal } = await runMove(from, to, isTime)
      if (signal === 'SIGKILL') kills += 1
      const ids = new Set([...idsIn(await see(source.store)), ...idsIn(await see(target.store))])
      expect([...ids].toSorted()).toEqual(idsIn(before))
    }
    // On a busy machine one may have come too late; the first cannot.
    expect(kills).toBeGreaterThan(0)
    const { code, out } = await runMove(from, to)
    expect([code, JSON.parse(out)]).toMatchObject([0, { conflictCount: 0, left: 0 }])
    expect(idsIn(await see(source.store))).toEqual([])
    expect(await see(target.store)).toEqual(before)
    expect((await takeCensus(target.store)).total).toBe(MESSAGES + 4)
    await Promise.all([source.queue.stop(), target.queue.stop()])
  })
})
