import { describe, expect, it } from 'vitest'
import { Rota, type RotaMember } from '../../../src/runtime/claiming/rota.ts'
import { VirtualClock } from '../../../src/testing/index.ts'

type Seen = RotaMember & { readonly name: string }

function makeRota(count: number, fallbackMs = 5_000) {
  const clock = new VirtualClock()
  const rota = new Rota(clock, fallbackMs)
  const offered: string[] = []
  const looked: string[] = []
  const members = Array.from({ length: count }, (_, i): Seen => {
    const name = String.fromCodePoint(97 + i)
    return { name, noteRoom: () => void offered.push(name), look: () => void looked.push(name) }
  })
  for (const member of members) rota.join(member)
  const [a, b, c] = members as [Seen, Seen, Seen]
  return { clock, rota, members, a, b, c, offered, looked }
}

const WANTS = [{ topic: 't', limit: 8 }]

describe('the room of a worker', () => {
  it('what one has asked for, no other asks for, until it is answered', () => {
    const { rota, a, b } = makeRota(3)
    rota.asks(a, WANTS, 5)
    expect([rota.promised(b).total, rota.promised(b).of('t'), rota.promised(b).of('u')]).toEqual([5, 5, 0])
    expect(rota.promised(a).total).toBe(0)
    rota.answered(a)
    expect(rota.promised(b).total).toBe(0)
  })

  it('what several have asked for adds up; of a topic no more than of all', () => {
    const { rota, a, b, c } = makeRota(3)
    rota.asks(a, WANTS, 5)
    rota.asks(b, [...WANTS, { topic: 'u', limit: 2 }], 3)
    const { total, of } = rota.promised(c)
    expect([total, of('t'), of('u')]).toEqual([8, 8, 2])
    expect(rota.promised(b).total).toBe(5)
  })

  it('one that is answered offers what it did not use; one that did not ask has nothing to offer', () => {
    const { rota, a, b, offered } = makeRota(2)
    rota.asks(a, WANTS, 5)
    expect([rota.isAsking(a), rota.isAsking(b)]).toEqual([true, false])
    rota.answered(b)
    expect(offered).toEqual([])
    rota.answered(a)
    expect([rota.isAsking(a), offered]).toEqual([false, ['a', 'b']])
  })

  it('one alone has nobody to keep it from asking, and is not offered what is its own', () => {
    const { rota, a, offered } = makeRota(1)
    rota.asks(a, WANTS, 5)
    expect(rota.isAsking(a)).toBe(false)
    rota.answered(a)
    expect(offered).toEqual([])
  })

  it('however many wait, room is offered once; and again to those who wait then', async () => {
    const { clock, rota, offered } = makeRota(2)
    rota.waits()
    await clock.advance(50)
    rota.waits()
    await clock.advance(100)
    expect(offered).toEqual(['a', 'b'])
    rota.waits()
    await clock.advance(100)
    expect(offered).toHaveLength(4)
    expect(clock.pendingTimers).toBe(0)
  })

  it('a claim that is not answered holds nothing back after a while, and the others hear of it', async () => {
    const { clock, rota, a, b, offered } = makeRota(2)
    rota.asks(a, WANTS, 5)
    rota.waits()
    await clock.advance(99)
    expect([rota.promised(b).total, offered]).toEqual([5, []])
    await clock.advance(1)
    expect([rota.promised(b).total, offered]).toEqual([0, ['a', 'b']])
  })

  it('whose turn was least lately is offered room first', () => {
    const { rota, a, b, c, offered } = makeRota(3)
    rota.takesTurn(a)
    rota.asks(a, WANTS, 1)
    rota.takesTurn(b)
    rota.asks(b, WANTS, 1)
    // Who had to put something off has not had its turn.
    rota.asks(c, WANTS, 1)
    rota.offer()
    expect(offered).toEqual(['c', 'a', 'b'])
  })

  it('each takes half of what is left; one alone takes all', () => {
    expect([10, 5, 1, 0].map((left) => makeRota(2).rota.share(left))).toEqual([5, 3, 1, 0])
    expect(makeRota(1).rota.share(10)).toBe(10)
  })
})

describe('P9: looking on one’s own', () => {
  it('of those that spare us one is looked at in each minute, in turn', async () => {
    const { clock, rota, a, b, c, looked } = makeRota(3)
    for (const member of [a, b, c]) rota.noteLook(member, 'spared')
    for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c'], ['a', 'b', 'c', 'a']]) {
      await clock.advance(53_000)
      expect(looked).toEqual(expected)
    }
  })

  it('those that we must look at anyway have no turn', async () => {
    const { clock, rota, a, b, c, looked } = makeRota(3)
    for (const member of [a, b, c]) rota.noteLook(member, 'spared')
    rota.noteLook(a, 'watching')
    await clock.advance(2 * 53_000)
    expect(looked).toEqual(['b', 'c'])
  })

  it('a queue that is one partition is looked at as its store says; so is each of many with a long fallback', async () => {
    const alone = makeRota(1)
    alone.rota.noteLook(alone.a, 'spared')
    const slow = makeRota(3, 31_000)
    slow.rota.noteLook(slow.a, 'spared')
    slow.rota.noteLook(slow.a, 'needed')
    for (const { clock, rota, looked } of [alone, slow]) {
      await clock.advance('10m')
      expect([rota.lookMsMax, looked]).toEqual([undefined, []])
    }
    expect(makeRota(3).rota.lookMsMax).toBe(4 * 53_000)
  })

  it('half a minute is the longest fallback that leaves time for turns', async () => {
    const { clock, rota, a, looked } = makeRota(2, 30_000)
    rota.noteLook(a, 'spared')
    await clock.advance(28_000)
    expect([rota.lookMsMax, looked]).toEqual([3 * 28_000, ['a']])
  })

  it('there are no turns where nobody spares us', async () => {
    const { clock, rota, a, b, looked } = makeRota(2)
    rota.noteLook(a, 'watching')
    expect(clock.pendingTimers).toBe(0)
    rota.noteLook(b, 'spared')
    rota.noteLook(b, 'watching')
    await clock.advance(53_000)
    expect([looked, clock.pendingTimers]).toEqual([[], 0])
  })

  it('where one spares us no more, all are looked at; and not again at once', async () => {
    const { clock, rota, a, b, c, looked } = makeRota(3)
    for (const member of [a, b, c]) rota.noteLook(member, 'spared')
    rota.noteLook(b, 'needed')
    await clock.advance(1)
    expect(looked).toEqual(['a', 'b', 'c'])
    rota.noteLook(a, 'needed')
    await clock.advance(4_000)
    expect(looked).toHaveLength(3)
    await clock.advance(1_000)
    expect(looked).toHaveLength(6)
  })

  it('a message to watch is no alarm, nor one partition that never spared us', async () => {
    const { clock, rota, a, b, looked } = makeRota(3)
    rota.noteLook(a, 'spared')
    rota.noteLook(a, 'watching')
    rota.noteLook(b, 'needed')
    await clock.advance(10_000)
    expect(looked).toEqual([])
  })

  it('several that spare us no more raise one alarm', async () => {
    const { clock, rota, a, b, looked } = makeRota(2)
    for (const member of [a, b]) rota.noteLook(member, 'spared')
    for (const member of [a, b]) rota.noteLook(member, 'needed')
    await clock.advance(10_000)
    expect(looked).toEqual(['a', 'b'])
  })

  it('a turn is over when its partition has answered: a message to watch after that is no alarm', async () => {
    const { clock, rota, a, b, looked } = makeRota(2)
    for (const member of [a, b]) rota.noteLook(member, 'spared')
    await clock.advance(53_000)
    rota.noteLook(b, 'watching') // It is not the turn of this one.
    rota.noteLook(a, 'spared')
    rota.noteLook(a, 'watching')
    await clock.advance(10_000)
    expect(looked).toEqual(['a'])
  })

  it('who finds at its turn that it should watch a message may be the only one: all are looked at', async () => {
    const { clock, rota, a, b, looked } = makeRota(2)
    for (const member of [a, b]) rota.noteLook(member, 'spared')
    await clock.advance(53_000)
    rota.noteLook(b, 'spared') // The answer of another, which ends no turn but its own.
    rota.noteLook(a, 'watching')
    await clock.advance(1)
    expect(looked).toEqual(['a', 'a', 'b'])
  })

  it('a stop leaves no timer', async () => {
    const { clock, rota, a, b } = makeRota(3)
    for (const member of [a, b]) rota.noteLook(member, 'spared')
    rota.noteLook(b, 'needed')
    rota.waits()
    rota.stop()
    rota.waits()
    rota.noteLook(a, 'spared')
    rota.noteLook(a, 'needed')
    expect(clock.pendingTimers).toBe(0)
  })

  it('after a stop nobody waits, and there are no turns', () => {
    const { clock, rota, a } = makeRota(2)
    rota.stop()
    rota.waits()
    rota.noteLook(a, 'spared')
    expect(clock.pendingTimers).toBe(0)
  })
})
