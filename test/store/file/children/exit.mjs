/** Begins 50 calls of every kind, and exits while they are under way. */
import { args, claim, message, say, store } from './store.mjs'

for (let i = 0; i < 50; i += 1) {
  store.put([message(`${args.name}-${i}`)]).catch(() => {})
  if (i % 5 === 0) claim(3).catch(() => {})
}
say('begun')
setTimeout(() => process.exit(0), args.seed % 4)
