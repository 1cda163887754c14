/**
 * An API that takes 5 calls a second and refuses the rest; then an incident: pause, repair, and a resume that spreads what
 * piled up.
 *
 *   npm run example api-limits
 *
 * Minutes pass in milliseconds here: the clock is virtual. Leave it out, and it is real. With a store that processes share, the
 * limit and the pause hold over all of them.
 */
import { Punctual } from 'punctual'
import { VirtualClock } from 'punctual/testing'
import { Api } from './api.ts'

type Topics = { 'sms.send': { to: string } }

const clock = new VirtualClock()
const queue = new Punctual<Topics>({ store: 'memory:', clock, concurrency: 20 })
const api = new Api(clock, { perSecond: 5 })
queue.handle('sms.send', ({ payload }) => api.send(payload.to))
queue.on('paused', ({ topic }) => console.log(`event: ${topic} is paused`))
await queue.start()

const produce = (prefix: string, count: number): Promise<string[]> =>
  queue.produceMany(
    Array.from({ length: count }, (_, i) => ({
      topic: 'sms.send' as const,
      payload: { to: `${prefix}${i}` },
    })),
  )

await queue.limit('sms.send', { rate: '5/1s', burst: 1 })
await produce('+49', 100)
await clock.advance('30s')
console.log(`limit: ${api.sent} of 100 sent in 30 seconds, ${api.refused} refused`)

await queue.limit('sms.send', null)
await queue.pause('sms.send')
await produce('+43', 60)
await clock.advance('10m')
console.log(`paused: ${api.sent - 100} of 60 sent in 10 minutes`)

await queue.resume('sms.send', { over: '1m' })
await clock.advance('20s')
console.log(`resumed over a minute: ${api.sent - 100} of 60 sent after 20 seconds`)
await clock.advance('41s')
console.log(`and ${api.sent - 100} after a minute, ${api.refused} refused`)

const stopping = queue.stop()
await clock.advance('1s')
await stopping
