/** Produces `count` messages named after `name`, several calls at once. */
import { args, message, say, store } from './store.mjs'

const BATCH = 20
const lanes = Array.from({ length: 4 }, (_, lane) => lane)
await Promise.all(
  lanes.map(async (lane) => {
    for (let first = lane * BATCH; first < args.count; first += lanes.length * BATCH) {
      const size = Math.min(BATCH, args.count - first)
      await store.put(Array.from({ length: size }, (_, i) => message(`${args.name}-${first + i}`)))
    }
  }),
)
await store.close()
say('produced')
