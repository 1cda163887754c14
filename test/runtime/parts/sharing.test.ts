import { describe, expect, it } from 'vitest'
import { RoomSharing, type Sharer } from '../../../src/runtime/claiming/sharing.ts'
import { VirtualClock } from '../../../src/testing/index.ts'

function makeSharing(count: number) {
  const clock = new VirtualClock()
  const sharing = new RoomSharing(clock)
  const offered: string[] = []
  const sharers = ['a', 'b', 'c'].slice(0, count).map((name): Sharer => {
    return { noteRoom: () => void offered.push(name) }
  })
  for (const sharer of sharers) sharing.join(sharer)
  const [a, b, c] = sharers as [Sharer, Sharer, Sharer]
  return { clock, sharing, a, b, c, offered }
}

const WANTS = [{ topic: 't', limit: 8 }]

describe('the room of a worker', () => {
  it('what one has asked for, no other asks for, until it is answered', () => {
    const { sharing, a, b } = makeSharing(3)
    sharing.asks(a, WANTS, 5)
    expect([sharing.promised(b).total, sharing.promised(b).of('t'), sharing.promised(b).of('u')]).toEqual([
      5, 5, 0,
    ])
    expect(sharing.promised(a).total).toBe(0)
    sharing.answered(a)
    expect(sharing.promised(b).total).toBe(0)
  })

  it('what several have asked for adds up; of a topic no more than of all', () => {
    const { sharing, a, b, c } = makeSharing(3)
    sharing.asks(a, WANTS, 5)
    sharing.asks(b, [...WANTS, { topic: 'u', limit: 2 }], 3)
    const { total, of } = sharing.promised(c)
    expect([total, of('t'), of('u')]).toEqual([8, 8, 2])
    expect(sharing.promised(b).total).toBe(5)
  })

  it('one that is answered offers what it did not use; one that did not ask has nothing to offer', () => {
    const { sharing, a, b, offered } = makeSharing(2)
    sharing.asks(a, WANTS, 5)
    expect([sharing.isAsking(a), sharing.isAsking(b)]).toEqual([true, false])
    sharing.answered(b)
    expect(offered).toEqual([])
    sharing.answered(a)
    expect([sharing.isAsking(a), offered]).toEqual([false, ['a', 'b']])
  })

  it('however many wait, room is offered once; and again to those who wait then', async () => {
    const { clock, sharing, offered } = makeSharing(2)
    sharing.waits()
    await clock.advance(50)
    sharing.waits()
    await clock.advance(100)
    expect(offered).toEqual(['a', 'b'])
    sharing.waits()
    await clock.advance(100)
    expect(offered).toHaveLength(4)
    expect(clock.pendingTimers).toBe(0)
  })

  it('a claim that is not answered holds nothing back after a while, and the others hear of it', async () => {
    const { clock, sharing, a, b, offered } = makeSharing(2)
    sharing.asks(a, WANTS, 5)
    sharing.waits()
    await clock.advance(99)
    expect([sharing.promised(b).total, offered]).toEqual([5, []])
    await clock.advance(1)
    expect([sharing.promised(b).total, offered]).toEqual([0, ['a', 'b']])
  })

  it('whose turn was least lately is offered room first', () => {
    const { sharing, a, b, c, offered } = makeSharing(3)
    sharing.takesTurn(a)
    sharing.asks(a, WANTS, 1)
    sharing.takesTurn(b)
    sharing.asks(b, WANTS, 1)
    // Who had to put something off has not had its turn.
    sharing.asks(c, WANTS, 1)
    sharing.offer()
    expect(offered).toEqual(['c', 'a', 'b'])
  })

  it('each takes half of what is left', () => {
    expect([10, 5, 1, 0].map((left) => makeSharing(2).sharing.share(left))).toEqual([5, 3, 1, 0])
  })

  it('after a stop no sharer waits, and no timer is left', () => {
    const { clock, sharing } = makeSharing(2)
    sharing.waits()
    sharing.stop()
    sharing.waits()
    expect(clock.pendingTimers).toBe(0)
  })
})
