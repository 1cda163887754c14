import { describe, expect, it } from 'vitest'
import { Rota, type RotaMember } from '../../../src/runtime/claiming/rota.ts'
import { VirtualClock } from '../../../src/testing/index.ts'

type Seen = RotaMember & { readonly name: string }

function makeRota(count: number) {
  const clock = new VirtualClock()
  const rota = new Rota(clock)
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

  it('a claim that is not answered holds nothing back after a while, and the others hear of it', async () => {
    const { clock, rota, a, b, offered } = makeRota(2)
    rota.asks(a, WANTS, 5)
    rota.waits()
    await clock.advance(99)
    expect([rota.promised(b).total, offered]).toEqual([5, []])
    await clock.advance(1)
    expect([rota.promised(b).total, offered]).toEqual([0, ['b', 'a']])
  })

  it('who asked least lately is offered room first', () => {
    const { rota, a, b, offered } = makeRota(3)
    rota.asks(a, WANTS, 1)
    rota.asks(b, WANTS, 1)
    rota.offer()
    expect(offered).toEqual(['c', 'a', 'b'])
  })

  it('each takes half of what is left; one alone takes all', () => {
    expect([10, 5, 1, 0].map((left) => makeRota(2).rota.share(left))).toEqual([5, 3, 1, 0])
    expect(makeRota(1).rota.share(10)).toBe(10)
  })
})

describe('P9: looking on one’s own', () => {
  it('in each minute one partition has its turn, whenever it is asked', async () => {
    const { clock, rota, members } = makeRota(4)
    for (const waitMs of [0, 7_000, 60_000, 3_333]) {
      await clock.advance(waitMs)
      const turns = members.map((member) => {
        const ms = rota.lookMsMax(member) ?? 0
        expect(ms).toBeGreaterThanOrEqual(60_000)
        expect(ms).toBeLessThan(5 * 60_000)
        return ((clock.monotonic() + ms) / 60_000) % 4
      })
      expect(turns).toEqual([0, 1, 2, 3])
    }
  })

  it('a queue that is one partition is looked at as its store says', () => {
    const { rota, a } = makeRota(1)
    expect(rota.lookMsMax(a)).toBeUndefined()
  })

  it('where one partition wants to be looked at sooner, all are looked at, and not again at once', async () => {
    const { clock, rota, a, b, looked } = makeRota(3)
    rota.alarm(b)
    rota.alarm(a)
    expect(looked).toEqual(['a', 'c'])
    await clock.advance(5_000)
    rota.alarm(a)
    expect(looked).toEqual(['a', 'c', 'b', 'c'])
  })
})
