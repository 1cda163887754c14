/** Begins a put and then blocks its own event loop until `release` exists, five times. */
import { existsSync } from 'node:fs'
import { args, message, say, store } from './store.mjs'

const nap = new Int32Array(new SharedArrayBuffer(4))
for (let round = 0; round < 5; round += 1) {
  const put = store.put([message(`block-${round}`)])
  // The call is on its way to the thread when the loop stops.
  await Promise.resolve()
  say(`blocked ${round}`)
  do Atomics.wait(nap, 0, 0, 400)
  while (!existsSync(`${args.release}-${round}`))
  await put
}
await store.close()
