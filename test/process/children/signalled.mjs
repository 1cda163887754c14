// Runs one handler under run(), and says what happens, until a signal comes.
import { Punctual } from '../../../dist/index.js'

const { payload } = JSON.parse(process.argv[2])
const queue = new Punctual({ store: 'memory:', stopTimeout: '20s' })
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)

queue.handle('slow', async ({ signal }) => {
  say({ started: payload })
  await new Promise((resolve) => {
    if (payload === 'patient') setTimeout(resolve, 300)
    else signal.addEventListener('abort', resolve)
  })
  say({ ended: payload, aborted: signal.aborted })
})
await queue.produce('slow')
say({ report: await queue.run() })
