// run() on a server that takes connections and never says a word.
import { createServer } from 'node:net'
import { once } from 'node:events'
import { Punctual } from '../../../dist/index.js'

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
const server = createServer((socket) =>
  socket.on('error', () => undefined).on('data', () => say({ asked: true })),
)
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const queue = new Punctual({ store: `redis://127.0.0.1:${server.address().port}`, logger: false })
queue.handle('t', () => undefined)
say({ report: await queue.run() })
process.exit(0)
