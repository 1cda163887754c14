/** Completes whatever is due, saying each id once it is settled. Ends when asked for `NO_TASK` after `stop` exists. */
import { existsSync } from 'node:fs'
import { args, claim, ref, say, store } from './store.mjs'

let wake = () => {}
store.onWake(() => wake())
for (;;) {
  const isLast = existsSync(args.stop)
  const woken = new Promise((resolve) => (wake = resolve))
  const { leases, next } = await claim(50)
  const results = await store.settle(leases.map((lease) => ({ ...ref(lease), kind: 'ack' })))
  for (const [index, { id }] of leases.entries()) if (results[index] === 'settled') say(`done ${id}`)
  if (next.state === 'EXPIRED') continue
  if (isLast) break
  await Promise.race([woken, new Promise((resolve) => setTimeout(resolve, 200))])
}
await store.close()
say('stopped')
