// A worker of a crowd: each message takes its time, but for the one that ends the process.
import { Punctual } from '../../../dist/index.js'

const { store, queue: name, slowMs, options } = JSON.parse(process.argv[2])
const queue = new Punctual({ store, queue: name, logger: false, ...options })
queue.handle('crowd', async ({ payload }) => {
  const isPoison = payload === 'poison'
  await new Promise((resolve) => setTimeout(resolve, isPoison ? 100 : slowMs))
  if (isPoison) process.exit(1)
})
await queue.start()
process.on('SIGTERM', () => void queue.stop().then(() => process.exit(0)))
