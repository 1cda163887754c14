/**
 * A ride that was not rated gets five stars after 48 hours.
 *
 *   npm run example ride-rating          the story
 *   npx vitest run examples/ride-rating  its test
 */
import { Punctual } from 'punctual'
import { VirtualClock } from 'punctual/testing'
import { Rides, type Topics } from './rides.ts'

const clock = new VirtualClock(new Date('2030-01-01T22:15Z'))
const queue = new Punctual<Topics>({ store: 'memory:', clock })
const rides = new Rides(queue)
await queue.start()

await rides.end('to the airport')
await rides.end('to the station')
await clock.advance('5h')
await rides.rate('to the station', 3)
await clock.advance('43h')
for (const [ride, stars] of rides.stars) console.log(`${'★'.repeat(stars).padEnd(5, '☆')}  ${ride}`)
console.log(`It is ${new Date(clock.now()).toISOString()} in the story.`)

const stopping = queue.stop()
await clock.advance('1s')
await stopping
