/** A little of everything, one call after the other, each said when it has resolved. Then the end. */
import { args, claim, message, ref, say, store } from './store.mjs'

for (let round = 0; round < args.count; round += 1) {
  const messages = Array.from({ length: 8 }, (_, i) =>
    message(`${round}-${i}`, { body: JSON.stringify('x'.repeat(i * 300)) }),
  )
  await store.put(messages)
  say(`stored ${messages.map(({ id }) => id).join(' ')}`)
  const { leases } = await claim(5)
  say(`running ${leases.map(({ id }) => id).join(' ')}`)
  await store.settle(leases.slice(0, 3).map((lease) => ({ ...ref(lease), kind: 'ack' })))
  say(
    `gone ${leases
      .slice(0, 3)
      .map(({ id }) => id)
      .join(' ')}`,
  )
}
await store.close()
