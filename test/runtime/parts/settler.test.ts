import { describe, expect, it } from 'vitest'
import { InvariantError, UnavailableError } from '../../../src/core/errors.ts'
import {
  Settler,
  settlementFor,
  type SettleEntry,
  type SettleAnswer,
} from '../../../src/runtime/leases/settler.ts'
import { StoreWrapper } from '../../../src/store/contract/verbs.ts'
import { MemoryStore } from '../../../src/store/memory/store.ts'
import type { Capabilities, SettleResult, Settlement } from '../../../src/store/contract/store.ts'
import { SeededRandom, VirtualClock } from '../../../src/testing/index.ts'

const AWAY = new UnavailableError('STORE_UNAVAILABLE', 'away')
const BROKEN = new InvariantError('a damaged record')

function makeSettler(capabilities: Partial<Capabilities> = {}) {
  const clock = new VirtualClock()
  const calls: { at: number; ids: string[] }[] = []
  const scene: { answer: (batch: readonly Settlement[]) => Promise<SettleResult[]> } = {
    answer: async (batch) => batch.map(() => 'settled'),
  }
  class Spy extends StoreWrapper {
    override settle(batch: readonly Settlement[]): Promise<SettleResult[]> {
      calls.push({ at: clock.monotonic(), ids: batch.map(({ id }) => id) })
      return scene.answer(batch)
    }
  }
  const heard: string[] = []
  const settler = new Settler({
    clock,
    random: new SeededRandom(1),
    store: new Spy(new MemoryStore(clock), capabilities),
    onFailure: () => void heard.push('failure'),
    onRecovered: () => void heard.push('recovered'),
  })
  const answers: [string, SettleAnswer][] = []
  const add = (id: string, givesUpAt = 1_000, error = ''): void => {
    const entry: SettleEntry = {
      settlement: { kind: 'retry', id, token: '', topic: 't', delayMs: 0, error },
      tries: 0,
      givesUpAt: () => givesUpAt,
      answered: (answer) => void answers.push([id, answer]),
    }
    settler.add(entry)
  }
  return { add, answers, calls, clock, heard, scene, settler }
}

describe('settler', () => {
  it('what ends in one turn is one call; where a call costs nothing, at once', async () => {
    const { add, answers, calls, clock } = makeSettler()
    add('a')
    add('b')
    expect(calls).toEqual([])
    await clock.settle()
    expect(calls).toEqual([{ at: 0, ids: ['a', 'b'] }])
    expect(answers).toEqual([
      ['a', 'settled'],
      ['b', 'settled'],
    ])
  })

  it('where a call costs something, fewer than 50 wait for more, for up to 5 ms', async () => {
    const { add, calls, clock } = makeSettler({ leadMs: 10 })
    add('a')
    await clock.advance(3)
    add('b')
    await clock.advance(1)
    expect(calls).toEqual([])
    await clock.advance(1)
    expect(calls).toEqual([{ at: 5, ids: ['a', 'b'] }])
    expect(clock.pendingTimers).toBe(0)
  })

  it('50 do not wait', async () => {
    const { add, calls, clock } = makeSettler({ leadMs: 10 })
    for (let i = 0; i < 50; i += 1) add(`${i}`)
    await clock.settle()
    expect(calls.map(({ ids }) => ids.length)).toEqual([50])
    expect(clock.pendingTimers).toBe(0)
  })

  it('a drain waits for no more', async () => {
    const { add, calls, clock, settler } = makeSettler({ leadMs: 10 })
    add('a')
    await settler.drain()
    await clock.settle()
    expect([calls.length, clock.pendingTimers]).toEqual([1, 0])
  })

  it('P10: batches are cut by entries and by bytes', async () => {
    const { add, calls, clock } = makeSettler({ batchMax: 3, batchBytesMax: 100 })
    for (const id of ['a', 'b', 'c', 'd']) add(id)
    add('large', 1_000, 'x'.repeat(80))
    add('larger', 1_000, 'x'.repeat(30))
    await clock.settle()
    expect(calls.map(({ ids }) => ids)).toEqual([['a', 'b', 'c'], ['d', 'large'], ['larger']])
  })

  it('P2: during an outage it tries on, with growing pauses, however long that takes; then all is well', async () => {
    const { add, answers, calls, clock, heard, scene, settler } = makeSettler()
    scene.answer = () => Promise.reject(AWAY)
    add('a', 1_000)
    await clock.advance('1m')
    expect(settler.isStuck).toBe(true)
    expect(answers).toEqual([])
    const pauses = calls.slice(1).map(({ at }, i) => at - (calls[i]?.at ?? 0))
    expect(calls.length).toBeLessThan(50)
    expect(Math.max(...pauses)).toBeLessThanOrEqual(2_000)
    expect(pauses[0]).toBeLessThanOrEqual(50)
    scene.answer = async (batch) => batch.map(() => 'lost')
    await clock.advance('3s')
    expect(answers).toEqual([['a', 'maybe']])
    expect([settler.isStuck, heard.at(-1)]).toEqual([false, 'recovered'])
  })

  it('P2: the pauses double, up to two seconds, each a little shorter by chance', async () => {
    const { add, calls, clock, scene } = makeSettler()
    scene.answer = () => Promise.reject(AWAY)
    add('a')
    await clock.advance('20s')
    const pauses = calls.slice(1).map(({ at }, i) => at - (calls[i]?.at ?? 0))
    const caps = [50, 100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000]
    for (const [i, cap] of caps.entries()) {
      expect(pauses[i]).toBeLessThanOrEqual(cap)
      expect(pauses[i]).toBeGreaterThanOrEqual(cap * 0.7)
    }
  })

  it('P6: recovered, once all that was stuck has been answered', async () => {
    const { add, answers, clock, heard, scene, settler } = makeSettler({ batchMax: 1 })
    const away = new Set(['a', 'b'])
    scene.answer = async (batch) => {
      if (batch.some(({ id }) => away.has(id))) throw AWAY
      return batch.map(() => 'settled')
    }
    for (const id of ['a', 'b', 'c']) add(id)
    await clock.advance('1s')
    expect([settler.isStuck, answers]).toEqual([true, [['c', 'settled']]])
    away.delete('a')
    await clock.advance('3s')
    expect([settler.isStuck, answers.length, heard.includes('recovered')]).toEqual([true, 2, false])
    away.delete('b')
    await clock.advance('3s')
    expect([settler.isStuck, heard.filter((one) => one === 'recovered')]).toEqual([false, ['recovered']])
  })

  it('a drain waits for what an answer makes us ask, and for what is tried again', async () => {
    const { clock, scene, settler } = makeSettler()
    let isAnswered = false
    let isDrained = false
    scene.answer = () => {
      scene.answer = async () => ['settled']
      return Promise.reject(AWAY)
    }
    settler.add({
      settlement: { kind: 'release', id: 'a', token: '', topic: 't' },
      tries: 0,
      givesUpAt: () => 0,
      answered: () =>
        new Promise((resolve) => {
          isAnswered = true
          clock.schedule(1_000, resolve)
        }),
    })
    const draining = settler.drain().then(() => (isDrained = true))
    await clock.settle()
    expect([isAnswered, isDrained]).toEqual([false, false])
    await clock.advance(500)
    expect([isAnswered, isDrained]).toEqual([true, false])
    await clock.advance(1_000)
    expect(isDrained).toBe(true)
    await draining
  })

  it('one that is locked hears so each time', async () => {
    const { clock, scene, settler } = makeSettler()
    const told: string[] = []
    const results: SettleResult[] = ['locked', 'locked', 'settled']
    scene.answer = async () => results.splice(0, 1)
    settler.add({
      settlement: { kind: 'release', id: 'a', token: '', topic: 't' },
      tries: 0,
      givesUpAt: () => 0,
      locked: () => void told.push('locked'),
      answered: (answer) => void told.push(answer),
    })
    await clock.advance('1s')
    expect(told).toEqual(['locked', 'locked', 'settled'])
  })

  it('an entry that the answer leaves out is lost', async () => {
    const { add, answers, clock, scene } = makeSettler()
    scene.answer = async () => ['settled']
    for (const id of ['a', 'b']) add(id)
    await clock.settle()
    expect(answers).toEqual([
      ['a', 'settled'],
      ['b', 'lost'],
    ])
  })

  it('a failure that is no outage is given up from the moment on that it names', async () => {
    const { add, answers, clock, scene } = makeSettler()
    scene.answer = () => Promise.reject(BROKEN)
    add('now', 0)
    add('later', 1)
    await clock.settle()
    expect(answers).toEqual([['now', 'gave up']])
  })

  it('a failure that is no outage: each goes alone, one poisons only itself, and is given up in the end', async () => {
    const { add, answers, clock, heard, scene, settler } = makeSettler()
    scene.answer = (batch) =>
      batch.some(({ id }) => id === 'bad')
        ? Promise.reject(BROKEN)
        : Promise.resolve(batch.map(() => 'settled'))
    for (const id of ['a', 'bad', 'b']) add(id, 1_000)
    await clock.settle()
    expect(answers).toEqual([
      ['a', 'settled'],
      ['b', 'settled'],
    ])
    expect(settler.isStuck).toBe(false)
    await clock.advance('5s')
    expect(answers.slice(2)).toEqual([['bad', 'gave up']])
    expect(heard).not.toContain('recovered')
  })

  it('an entry that is refused hears so, and its neighbours are settled', async () => {
    const { add, answers, clock, scene } = makeSettler()
    scene.answer = async (batch) => batch.map(({ id }) => (id === 'bad' ? 'refused' : 'settled'))
    for (const id of ['a', 'bad']) add(id)
    await clock.settle()
    expect(answers).toEqual([
      ['a', 'settled'],
      ['bad', 'refused'],
    ])
  })

  it('P6: one that is locked is asked again until it is not; its neighbours do not wait, and nothing is stuck', async () => {
    const { add, answers, calls, clock, scene, settler } = makeSettler()
    scene.answer = async (batch) => batch.map(({ id }) => (id === 'locked' ? 'locked' : 'settled'))
    for (const id of ['a', 'locked']) add(id)
    await clock.settle()
    expect(answers).toEqual([['a', 'settled']])
    await clock.advance('10s')
    expect([answers.length, settler.isStuck]).toEqual([1, false])
    const pauses = calls.slice(1).map(({ at }, i) => at - (calls[i]?.at ?? 0))
    expect(Math.max(...pauses)).toBeLessThanOrEqual(250)
    expect(calls.length).toBeLessThan(80)
    scene.answer = async (batch) => batch.map(() => 'settled')
    await clock.advance('1s')
    expect(answers[1]).toEqual(['locked', 'settled'])
  })

  it('after an outage, one that is locked keeps nobody from fetching', async () => {
    const { add, answers, clock, heard, scene, settler } = makeSettler()
    scene.answer = () => Promise.reject(AWAY)
    for (const id of ['a', 'locked']) add(id)
    await clock.advance('1s')
    expect(settler.isStuck).toBe(true)
    scene.answer = async (batch) => batch.map(({ id }) => (id === 'locked' ? 'locked' : 'settled'))
    await clock.advance('3s')
    expect([settler.isStuck, heard.at(-1)]).toEqual([false, 'recovered'])
    settler.end()
    await clock.settle()
    expect(answers).toEqual([
      ['a', 'settled'],
      ['locked', 'gave up'],
    ])
  })

  it('P4: lost at the first try is lost; after a failure it may have been ourselves', async () => {
    const { add, answers, clock, scene } = makeSettler()
    scene.answer = async (batch) => batch.map(() => 'lost')
    add('a')
    await clock.settle()
    expect(answers).toEqual([['a', 'lost']])
  })

  it('P11: at the end it gives up what is unanswered, and leaves no timer', async () => {
    const { add, answers, clock, scene, settler } = makeSettler({ leadMs: 10 })
    scene.answer = () => Promise.reject(AWAY)
    add('a')
    await clock.advance(10)
    settler.end()
    add('late')
    await clock.advance(10)
    expect(answers).toEqual([
      ['a', 'gave up'],
      ['late', 'gave up'],
    ])
    expect(clock.pendingTimers).toBe(0)
  })
})

describe('what the store is told', () => {
  const lease = { id: 'x', token: 'y', topic: 't' }
  const followUps = [
    { id: 'z', topic: 't', body: '', meta: '', priority: 1, when: { delayMs: 0 }, ifExists: 'keep' },
  ] as const
  const remember = { ms: 1, outcome: 'completed', result: '' } as const
  const content = { body: 'b', meta: '' }

  it.each([
    [{ kind: 'ack' }, undefined, { kind: 'ack' }],
    [{ kind: 'ack', remember }, undefined, { kind: 'ack', remember }],
    [{ kind: 'ack', isOwnWord: true }, undefined, { kind: 'ack', isOwnWord: true }],
    [{ kind: 'ack' }, { followUps }, { kind: 'ack', followUps }],
    [{ kind: 'ack', remember }, { followUps }, { kind: 'ack', remember, followUps }],
    [{ kind: 'ack' }, {}, { kind: 'ack' }],
    [{ kind: 'skip', remember }, undefined, { kind: 'ack', remember }],
    [
      { kind: 'again', when: { at: 7 }, isMoved: true },
      undefined,
      { kind: 'again', when: { at: 7 }, keepsLapses: true },
    ],
    [{ kind: 'again', when: { at: 7 } }, undefined, { kind: 'again', when: { at: 7 } }],
    [
      { kind: 'again', when: { at: 7 } },
      { followUps, content },
      { kind: 'again', when: { at: 7 }, followUps, content },
    ],
    [{ kind: 'release' }, undefined, { kind: 'release' }],
    [{ kind: 'lapse', error: 'e' }, undefined, { kind: 'lapse', error: 'e' }],
    [{ kind: 'retry', delayMs: 5, error: 'e' }, undefined, { kind: 'retry', delayMs: 5, error: 'e' }],
    [{ kind: 'dead', reason: 'r', error: 'e' }, undefined, { kind: 'dead', reason: 'r', error: 'e' }],
  ] as const)('of %j with %j', (outcome, carried, settlement) => {
    expect(settlementFor({ ...lease }, outcome, carried)).toStrictEqual({ ...lease, ...settlement })
  })
})
