import { describe, expect, it } from 'vitest'
import { Notices, type Failed } from '../../../src/runtime/telling/notices.ts'
import { VirtualClock } from '../../../src/testing/index.ts'

function about(topic: string, error = 'Error: boom'): Failed {
  return { id: 'x', topic, attempt: 2, error }
}

function makeNotices() {
  const clock = new VirtualClock()
  const lines: string[] = []
  const notices = new Notices(clock, {
    warn: (line) => void lines.push(`warn ${line}`),
    error: (line) => void lines.push(`error ${line}`),
  })
  const dead = (topic: string, error?: string, reason = 'failed'): void =>
    notices.dead(about(topic, error), reason)
  const retried = (topic: string, delayMs = 1_000): void => notices.retried(about(topic), delayMs)
  return { clock, dead, lines, notices, retried }
}

describe('failures in the log', () => {
  it.each([
    ['Error: boom\n  at line 1', 'failed', 'failed: Error: boom'],
    ['DeadLetter: closed', 'closed', 'DeadLetter: closed'],
    ['', 'expired', 'expired'],
    ['Error: boom', 'two\nlines', 'two: Error: boom'],
  ])('a dead letter: the error %j for the reason %j', (error, reason, shown) => {
    const { dead, lines } = makeNotices()
    dead('t', error, reason)
    expect(lines).toEqual([`error dead letter: t x, attempt 2, ${shown}`])
  })

  it('one more is one letter, two are letters; after that the minute begins anew', async () => {
    const { clock, dead, lines } = makeNotices()
    for (const topic of ['a', 'a', 'b', 'b', 'b', 'c']) dead(topic)
    await clock.advance(59_999)
    expect(lines).toHaveLength(3)
    await clock.advance(1)
    expect(lines.slice(3)).toEqual(['error 1 more dead letter: a', 'error 2 more dead letters: b'])
    expect(clock.pendingTimers).toBe(0)
    dead('a')
    expect(lines).toHaveLength(6)
  })

  it('a retry: once per topic and minute, with when it comes', async () => {
    const { clock, lines, retried } = makeNotices()
    retried('a', 0)
    retried('a', 0)
    retried('b', 90_000)
    expect(lines).toEqual([
      'warn a x failed, attempt 2, again at once: Error: boom',
      'warn b x failed, attempt 2, again in 90s: Error: boom',
    ])
    await clock.advance('1m')
    retried('a')
    expect(lines).toHaveLength(3)
  })

  it('P10: of a hundred topics in a minute, and of no more', async () => {
    const { clock, dead, lines, retried } = makeNotices()
    for (let i = 0; i <= 100; i += 1) {
      dead(`dead${i}`)
      retried(`retried${i}`)
    }
    expect(lines).toHaveLength(200)
    dead('dead0') // One that is known is still counted.
    dead('dead100')
    await clock.advance('1m')
    expect(lines.slice(200)).toEqual(['error 1 more dead letter: dead0'])
  })

  it('P11: at the end the rest is said, and no timer is left, nor set', () => {
    const { clock, dead, lines, notices, retried } = makeNotices()
    dead('a')
    dead('a')
    notices.end()
    expect(lines.slice(1)).toEqual(['error 1 more dead letter: a'])
    dead('b')
    retried('b')
    expect([lines.length, clock.pendingTimers]).toEqual([4, 0])
  })
})
