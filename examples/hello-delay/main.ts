/**
 * The smallest use: five messages, sent longest delay first, arrive in the order of their moments.
 *
 *   npm run example hello-delay
 */
import { Punctual } from 'punctual'

const queue = new Punctual<{ hello: { afterMs: number } }>('memory:')

const allArrived = new Promise<void>((resolve) => {
  let arrived = 0
  queue.handle('hello', ({ payload, latenessMs }) => {
    console.log(`hello after ${payload.afterMs} ms, ${latenessMs.toFixed(1)} ms late`)
    arrived += 1
    if (arrived === 5) resolve()
  })
})

await queue.start()
for (const afterMs of [500, 400, 300, 200, 100]) await queue.produce('hello', { afterMs }, { delay: afterMs })
await allArrived
await queue.stop()
