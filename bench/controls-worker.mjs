// A worker of bench/controls.mjs: says when each handler starts, by the clock that all processes of a machine share.
import { Punctual } from '../dist/index.js'

const { store, concurrency } = JSON.parse(process.argv[2])
const queue = new Punctual({ store, queue: 'limits', concurrency, logger: false })
queue.handle('t', async () => {
  process.stdout.write(`${performance.timeOrigin + performance.now()}\n`)
  await new Promise((resolve) => setTimeout(resolve, 20))
})
await queue.start()
process.stdout.write('ready\n')
process.on('SIGTERM', () => void queue.stop().then(() => process.exit(0)))
