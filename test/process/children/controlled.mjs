// A worker under pauses and limits: says when each handler starts and ends, by the clock that all processes of a machine
// share, and when it hears of a pause and of its end.
import { Punctual } from '../../../dist/index.js'

const { store, queue: name, slowMs = 0, options = {} } = JSON.parse(process.argv[2])
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
const now = () => performance.timeOrigin + performance.now()

const queue = new Punctual({ store, queue: name, logger: false, ...options })
queue.handle('t', async ({ id, attempt }) => {
  say({ start: id, attempt, at: now() })
  if (slowMs > 0) await new Promise((resolve) => setTimeout(resolve, slowMs))
  say({ end: id, at: now() })
})
queue.on('paused', () => say({ paused: true }))
queue.on('resumed', () => say({ resumed: true }))
await queue.start()
say({ ready: true })
process.on('SIGTERM', () => void queue.stop().then(() => process.exit(0)))
