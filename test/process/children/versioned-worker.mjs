// A worker of the build whose dist folder it is given. Says "ready", then "VERSION ID" for each message that it runs.
//   node versioned-worker.mjs DIST URL share | hold | work
// share: it produces 50 messages as well. hold: its handler never ends.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [dist, url, mode] = process.argv.slice(2)
const load = (file) => import(pathToFileURL(join(dist, file)).href)
const { Punctual } = await load('index.js')
const { VERSION } = await load('core/version.js')

const say = (line) => process.stdout.write(`${line}\n`)

const queue = new Punctual({ store: url, lease: '10s', concurrency: 1, logger: false })
queue.handle('shared', async ({ id }) => {
  say(`${VERSION} ${id}`)
  await new Promise((resolve) => {
    if (mode !== 'hold') setTimeout(resolve, 5)
  })
})
await queue.start()
say('ready')
for (let n = 0; n < (mode === 'share' ? 50 : 0); n += 1)
  await queue.produce('shared', n, { id: `${VERSION}-${n}`, delay: '200ms' })
process.once('SIGTERM', () => void queue.stop().then(() => process.exit(0)))
