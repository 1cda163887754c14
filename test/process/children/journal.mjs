// A worker whose handlers write what they did to a file, synchronously: what is written there was surely run.
import { appendFileSync } from 'node:fs'
import { Punctual } from '../../../dist/index.js'

const { store, queue: name, journal } = JSON.parse(process.argv[2])
const options = { lease: '1s', fallback: '500ms', retry: { delays: ['50ms'], limit: 1_000 } }
const queue = new Punctual({ store, queue: name, logger: false, ...options })
queue.handle('t', async ({ id }) => {
  appendFileSync(journal, `${id}\n`)
  await new Promise((resolve) => setTimeout(resolve, 2))
})
await queue.start()
process.stdout.write('{"ready":true}\n')
