import { expect, it } from 'vitest'
import { endsWithin, sleep } from '../../src/clock.ts'
import { VirtualClock } from '../../src/testing/index.ts'

it('true when the work is done in time, and no timer stays behind', async () => {
  const clock = new VirtualClock()
  await expect(endsWithin(clock, 1_000, Promise.resolve())).resolves.toBe(true)
})

it('false when the time is over first; the work goes on', async () => {
  const clock = new VirtualClock()
  let isDone = false
  const work = sleep(clock, 2_000, new AbortController().signal).then(() => (isDone = true))
  const answer = endsWithin(clock, 1_000, work)
  await clock.advance(1_000)
  await expect(answer).resolves.toBe(false)
  await clock.advance(1_000)
  expect(isDone).toBe(true)
})

it('rejects as the work does, with an error in any case', async () => {
  const clock = new VirtualClock()
  await expect(endsWithin(clock, 1_000, Promise.reject(new Error('no')))).rejects.toThrow('no')
  await expect(endsWithin(clock, 1_000, Promise.reject('no'))).rejects.toThrow('no') // oxlint-disable-line prefer-promise-reject-errors
})
