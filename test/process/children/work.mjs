// A worker: says each start, and each end, until SIGTERM. `slowMs` is how long a handler takes.
import { Punctual } from '../../../dist/index.js'

const { store, queue: name, slowMs = 0, options = {} } = JSON.parse(process.argv[2])
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
const queue = new Punctual({ store, queue: name, logger: false, ...options })

queue.handle('t', async ({ id, attempt, dueAt, latenessMs }) => {
  say({ start: id, attempt, earlyMs: Math.floor(dueAt) - Date.now(), latenessMs })
  if (slowMs > 0) await new Promise((resolve) => setTimeout(resolve, slowMs))
  say({ end: id })
})
queue.on('completed', ({ id, attempt }) => say({ completed: id, attempt }))
await queue.start()
say({ ready: true })
process.on('SIGTERM', () => {
  void queue.stop().then((report) => {
    say({ report })
    process.exit(0)
  })
})
