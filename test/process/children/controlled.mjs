// A worker under pauses and limits: says when each handler starts and ends, by the clock that all processes of a machine
// share, and whether the process stood still just before. A process that stands still cannot keep any time.
import { Punctual } from '../../../dist/index.js'

const { store, queue: name, slowMs = 0, options = {} } = JSON.parse(process.argv[2])
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
const now = () => performance.timeOrigin + performance.now()
const STALL_MS = 60
let [tickedAt, stalledAt] = [now(), 0]
setInterval(() => {
  if (now() - tickedAt > STALL_MS) stalledAt = now()
  tickedAt = now()
}, 10)

const queue = new Punctual({ store, queue: name, logger: false, ...options })
queue.handle('t', async ({ id, attempt }) => {
  const at = now()
  say({ start: id, attempt, at, isStalled: at - tickedAt > STALL_MS || at - stalledAt < 1_000 })
  if (slowMs > 0) await new Promise((resolve) => setTimeout(resolve, slowMs))
  say({ end: id, at: now() })
})
queue.on('paused', () => say({ paused: true }))
await queue.start()
say({ ready: true })
process.on('SIGTERM', () => void queue.stop().then(() => process.exit(0)))
