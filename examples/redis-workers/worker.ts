/** One of several workers. Takes a while per message, and tells its parent what it does. */
import { setTimeout as pause } from 'node:timers/promises'
import { Punctual } from 'punctual'

const [store = ''] = process.argv.slice(2)
const queue = new Punctual<{ job: { number: number } }>({
  store,
  queue: 'example',
  concurrency: 5,
  lease: '1s', // Short, so that a crash is noticed soon. The default is 15 seconds.
  retry: { limit: 5, delays: ['50ms'] },
  logger: false, // The crash is on purpose; else the log would tell of it.
})

queue.handle('job', async ({ payload, attempt }) => {
  process.send?.({ started: payload.number, attempt })
  await pause(50)
})

await queue.run() // Until SIGINT or SIGTERM.
process.disconnect()
