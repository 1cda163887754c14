/**
 * At nine where the customer lives, not at night, not on holidays: four ways to say when, by the clock on the wall.
 *
 *   npm run example local-time
 *
 * It is Wednesday, 23 December 2026, and a week passes in milliseconds: the clock is virtual. Leave it out, and it is real.
 */
import { Punctual } from 'punctual'
import { VirtualClock } from 'punctual/testing'

const clock = new VirtualClock(new Date('2026-12-23T21:00Z'))
const queue = new Punctual({ store: 'memory:', clock, calendars: { de: ['12-25', '12-26', '01-01'] } })
const BERLIN = { zone: 'Europe/Berlin', except: 'de' }

for (const topic of ['tokyo', 'sms', 'invoice', 'digest'])
  queue.handle(topic, () => {
    const zone = topic === 'tokyo' ? 'Asia/Tokyo' : BERLIN.zone
    const wall = new Date(clock.now()).toLocaleString('en-GB', {
      timeZone: zone,
      dateStyle: 'full',
      timeStyle: 'short',
    })
    console.log(`${topic}: ${wall} (${zone})`)
  })
await queue.start()

// The next nine o'clock in Tokyo, where it is six in the morning.
await queue.produce('tokyo', undefined, { at: { local: '09:00', zone: 'Asia/Tokyo' } })

// Ready in eight hours, which is six in the morning: it waits for the opening.
await queue.produce('sms', undefined, { delay: '8h', within: { from: '08:00', to: '20:00', ...BERLIN } })

// In two working days: Thursday and, after Christmas and a weekend, Monday.
await queue.produce('invoice', undefined, { after: { workdays: 2, at: '10:00', ...BERLIN } })

// Every morning on working days.
await queue.schedules.set('digest', { topic: 'digest', cron: '0 9 * * *', days: 'mon-fri', ...BERLIN })

await clock.advance('6d')

const stopping = queue.stop()
await clock.advance('1s')
await stopping
