/** Two days of business logic in milliseconds: the clock only moves when told to. */
import { expect, it, onTestFinished } from 'vitest'
import { Punctual } from 'punctual'
import { VirtualClock } from 'punctual/testing'
import { Rides, type Topics } from './rides.ts'

async function makeRides(): Promise<{ clock: VirtualClock; rides: Rides }> {
  const clock = new VirtualClock()
  const queue = new Punctual<Topics>({ store: 'memory:', clock })
  const rides = new Rides(queue)
  await queue.start()
  onTestFinished(async () => {
    const stopping = queue.stop()
    await clock.advance('1s')
    await stopping
  })
  return { clock, rides }
}

it('a ride that was not rated has five stars after 48 hours, and not a moment before', async () => {
  const { clock, rides } = await makeRides()
  await rides.end('ride-1')
  await clock.advance(48 * 3_600_000 - 1)
  expect(rides.stars.get('ride-1')).toBeUndefined()
  await clock.advance(1)
  expect(rides.stars.get('ride-1')).toBe(5)
})

it('a rating stays', async () => {
  const { clock, rides } = await makeRides()
  await rides.end('ride-1')
  await clock.advance('47h')
  await rides.rate('ride-1', 2)
  await clock.advance('7d')
  expect(rides.stars.get('ride-1')).toBe(2)
})
