// A worker process for tests: says what happens, a word per line, and runs until a signal comes.
import { Punctual } from '../../dist/index.js'

const queue = new Punctual({ store: 'memory:', stopTimeout: '20s' })
const say = (...words) => process.stdout.write(`${words.join(' ')}\n`)

queue.handle('slow', async ({ payload, signal }) => {
  say('started', payload)
  await new Promise((resolve) => {
    if (payload === 'patient') setTimeout(resolve, 300)
    else signal.addEventListener('abort', resolve)
  })
  say('ended', payload, signal.aborted)
})
await queue.produce('slow', process.argv[2])
const report = await queue.run()
say('report', JSON.stringify(report))
