// A producer: says which ids were accepted, batch by batch. `spreadMs`: delays are spread over this time.
import { Punctual } from '../../../dist/index.js'

const { store, queue: name, prefix, count, batch, spreadMs = 0 } = JSON.parse(process.argv[2])
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
const queue = new Punctual({ store, queue: name, logger: false })

for (let from = 0; from < count; from += batch) {
  const ids = Array.from({ length: Math.min(batch, count - from) }, (_, i) => `${prefix}${from + i}`)
  const entries = ids.map((id, i) => ({
    topic: 't',
    payload: id,
    id,
    delay: ((from + i) * 7919) % (spreadMs + 1),
  }))
  say({ offered: ids })
  await queue.produceMany(entries)
  say({ accepted: ids })
}
say({ done: true })
await queue.stop()
