/** P7 beside P14: a pause that is heard of when it is over gives back nothing that was handed out behind it. */
import { describe, expect, it } from 'vitest'
import type { Fate } from '../../src/testing/index.ts'
import { IN_ORDER, MIXED } from './mixed.ts'
import { makeWorld } from './world.ts'

describe('P7: pause, produce and resume in quick succession', () => {
  it.each([
    ['before', { controls: 10, claim: 30, settle: 20 }],
    ['behind', { controls: 30, claim: 10, settle: 20 }],
    ['long behind', { controls: 90, claim: 10, settle: 20 }],
  ])('starts in order where the answer about the pause comes %s that of the claim', async (_, late) => {
    const { clock, store, queue: make } = makeWorld()
    const queue = make({ concurrency: 1 })
    const started: unknown[] = []
    queue.handle('t', async ({ payload }) => {
      started.push(payload)
      await new Promise<void>((resolve) => void clock.schedule(40, resolve))
    })
    await queue.start()
    await queue.produce('t', 0) // How long its handler takes is known from here on.
    await clock.advance('1s')
    store.fate = delays({ controls: late.controls })
    await queue.pause('t')
    await queue.produceMany(MIXED)
    await clock.advance(2) // Claims that ask during the pause are answered at once, with nothing.
    store.fate = delays(late)
    await queue.resume('t')
    await clock.advance('2s')
    expect(started).toEqual([0, ...IN_ORDER])
  })
})

function delays(byVerb: Readonly<Record<string, number>>): Fate {
  const times = new Map(Object.entries(byVerb))
  return (verb) => {
    const ms = times.get(verb)
    return ms === undefined ? undefined : { kind: 'delay', ms }
  }
}
