import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MemoryStore } from '../../src/store/memory/store.ts'
import { FaultyStore } from '../../src/testing/faulty-store.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'

describe('a store behind a bad line', () => {
  const warnings: Error[] = []
  const listen = (warning: Error): void => void warnings.push(warning)

  beforeEach(() => void process.on('warning', listen))
  afterEach(() => void process.off('warning', listen))

  it('delays many replies at once without a warning of Node', async () => {
    const clock = new VirtualClock()
    const store = new FaultyStore(new MemoryStore(clock), clock)
    store.fate = () => ({ kind: 'delay', ms: 100 })
    const replies = Promise.all(Array.from({ length: 50 }, () => store.count()))
    await clock.advance(100)
    expect(await replies).toHaveLength(50)
    await new Promise((resolve) => setImmediate(resolve)) // Warnings are told in a turn of their own.
    expect(warnings).toEqual([])
  })
})
