import { describe, expect, it } from 'vitest'
import { OwnLooks, type Looker } from '../../../src/runtime/claiming/looks.ts'
import { VirtualClock } from '../../../src/testing/index.ts'

type Word = 'spared' | 'needed' | 'watching'

function makeLooks(count: number, fallbackMs = 5_000) {
  const clock = new VirtualClock()
  const looks = new OwnLooks(clock, fallbackMs)
  const looked: string[] = []
  const lookers = ['a', 'b', 'c'].slice(0, count).map((name): Looker => {
    return { look: () => void looked.push(name) }
  })
  for (const looker of lookers) looks.join(looker)
  const [a, b, c] = lookers as [Looker, Looker, Looker]
  /** As its partition says it: others look, or we must, for a message that we watch or because no other worker does. */
  const note = (looker: Looker, word: Word): void => {
    const lookMs = fallbackMs + (word === 'spared' ? 2 : 1)
    looks.note(looker, lookMs, word === 'watching' ? { state: 'WAITING', ms: 1 } : { state: 'NO_TASK' })
  }
  return { clock, looks, note, a, b, c, looked }
}

describe('P9: looking on one’s own', () => {
  it('of those that spare us one is looked at in each minute, in turn', async () => {
    const { clock, note, a, b, c, looked } = makeLooks(3)
    for (const looker of [a, b, c]) note(looker, 'spared')
    for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c'], ['a', 'b', 'c', 'a']]) {
      await clock.advance(53_000)
      expect(looked).toEqual(expected)
    }
  })

  it('those that we must look at anyway have no turn', async () => {
    const { clock, note, a, b, c, looked } = makeLooks(3)
    for (const looker of [a, b, c]) note(looker, 'spared')
    note(a, 'watching')
    await clock.advance(2 * 53_000)
    expect(looked).toEqual(['b', 'c'])
  })

  it('half a minute is the longest fallback that leaves time for turns', async () => {
    const { clock, note, looks, a, looked } = makeLooks(2, 30_000)
    note(a, 'spared')
    await clock.advance(28_000)
    expect([looks.lookMsMax, looked]).toEqual([3 * 28_000, ['a']])
    expect([OwnLooks.isPossible(30_000), OwnLooks.isPossible(30_001)]).toEqual([true, false])
    expect(makeLooks(3).looks.lookMsMax).toBe(4 * 53_000)
  })

  it('a partition that others look at spares us also while we watch a message of it', async () => {
    const { clock, looks, a, looked } = makeLooks(2)
    looks.note(a, 5_002, { state: 'WAITING', ms: 1 })
    await clock.advance(53_000)
    expect(looked).toEqual(['a'])
  })

  it('there are no turns where no partition spares us', async () => {
    const { clock, note, a, b, looked } = makeLooks(2)
    note(a, 'watching')
    expect(clock.pendingTimers).toBe(0)
    note(b, 'spared')
    note(b, 'watching')
    await clock.advance(53_000)
    expect([looked, clock.pendingTimers]).toEqual([[], 0])
  })

  it('where one spares us no more, all are looked at; and not again at once', async () => {
    const { clock, note, a, b, c, looked } = makeLooks(3)
    for (const looker of [a, b, c]) note(looker, 'spared')
    note(b, 'needed')
    await clock.advance(1)
    expect(looked).toEqual(['a', 'b', 'c'])
    note(a, 'needed')
    await clock.advance(4_000)
    expect(looked).toHaveLength(3)
    await clock.advance(1_000)
    expect(looked).toHaveLength(6)
  })

  it('a message to watch is no alarm, nor one partition that never spared us', async () => {
    const { clock, note, a, b, looked } = makeLooks(3)
    note(a, 'spared')
    note(a, 'watching')
    note(b, 'needed')
    await clock.advance(10_000)
    expect(looked).toEqual([])
  })

  it('several that spare us no more raise one alarm', async () => {
    const { clock, note, a, b, looked } = makeLooks(2)
    for (const looker of [a, b]) note(looker, 'spared')
    for (const looker of [a, b]) note(looker, 'needed')
    await clock.advance(10_000)
    expect(looked).toEqual(['a', 'b'])
  })

  it('a turn is over when its partition has answered: a message to watch after that is no alarm', async () => {
    const { clock, note, a, b, looked } = makeLooks(2)
    for (const looker of [a, b]) note(looker, 'spared')
    await clock.advance(53_000)
    note(b, 'watching') // It is not the turn of this one.
    note(a, 'spared')
    note(a, 'watching')
    await clock.advance(10_000)
    expect(looked).toEqual(['a'])
  })

  it('who finds at its turn that it should watch a message may be the only one: all are looked at', async () => {
    const { clock, note, a, b, looked } = makeLooks(2)
    for (const looker of [a, b]) note(looker, 'spared')
    await clock.advance(53_000)
    note(b, 'spared') // The answer of another, which ends no turn but its own.
    note(a, 'watching')
    await clock.advance(1)
    expect(looked).toEqual(['a', 'a', 'b'])
  })

  it('a stop leaves no timer, and after it there are no turns', () => {
    const { clock, looks, note, a, b } = makeLooks(3)
    for (const looker of [a, b]) note(looker, 'spared')
    note(b, 'needed')
    looks.stop()
    note(a, 'spared')
    note(a, 'needed')
    expect(clock.pendingTimers).toBe(0)
  })
})
