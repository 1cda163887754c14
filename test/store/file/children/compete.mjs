/** Puts as fast as it can, 4 calls in flight, until `stop` exists; says how many, and the longest it waited. */
import { existsSync } from 'node:fs'
import { args, message, say, store } from './store.mjs'

let [done, longest] = [0, 0]
const end = new AbortController()
say('ready')
while (!existsSync(args.start)) await new Promise((resolve) => setTimeout(resolve, 5))
const watch = setInterval(() => existsSync(args.stop) && end.abort(), 20)
const lane = async (number) => {
  for (let i = 0; !end.signal.aborted; i += 1) {
    const begun = performance.now()
    await store.put([message(`${args.name}-${number}-${i}`, { when: { delayMs: 3_600_000 } })])
    longest = Math.max(longest, performance.now() - begun)
    done += 1
  }
}
await Promise.all([0, 1, 2, 3].map(lane))
clearInterval(watch)
say(`did ${done} ${Math.round(longest)}`)
await store.close()
