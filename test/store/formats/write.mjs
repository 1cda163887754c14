// Fills a store with one of everything, by the build of any version: how the fixtures in this folder were made.
//   node test/store/formats/write.mjs DIST URL [tags] [remember] [schedules] [controls] [keys]
// DIST is the dist folder of that version. What it did not have yet is left out. See README.md beside.
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const [dist = 'dist', url = '', ...features] = process.argv.slice(2)
const { DeadLetter, Punctual, RetryIn } = await import(pathToFileURL(join(resolve(dist), 'index.js')).href)

const LATER = Date.UTC(2099, 0, 1)
const has = (feature) => features.includes(feature)
const queue = new Punctual({ store: url, queue: 'kept', logger: false })
const due = ['retried', 'dead', ...(has('remember') ? ['remembered'] : [])]
let ended = 0
let done
const all = new Promise((settle) => (done = settle))

queue.handle('a', async ({ id }) => {
  ended += 1
  if (ended === due.length) done()
  if (id === 'retried') throw new RetryIn('26000d', { message: 'later' })
  if (id === 'dead') throw new DeadLetter('no use')
  return { result: 'é' }
})

await queue.produce('a', { n: 1 }, { id: 'later', at: LATER })
await queue.produce(
  'a',
  { text: 'x'.repeat(3_000) },
  { id: 'large', at: LATER, priority: 'high', timeout: '5s' },
)
await queue.produce('a', 2, { id: 'retried' })
await queue.produce('a', 3, { id: 'dead' })
if (has('tags')) await queue.produce('b', 4, { id: 'tagged', at: LATER, tag: ['t', 'ü'] })
if (has('keys'))
  for (const id of ['first', 'second']) await queue.produce('c', id, { id, at: LATER, key: 'ü{1}' })
if (has('remember')) await queue.produce('a', 5, { id: 'remembered', remember: '26000d' })
await queue.start()
await all
await queue.stop()

// Another queue object: the one above has stopped, and nothing may run from here on.
const quiet = new Punctual({ store: url, queue: 'kept', logger: false })
if (has('schedules'))
  await quiet.schedules.set('yearly', {
    topic: 'a',
    payload: 6,
    cron: '0 3 1 1 *',
    zone: 'Europe/Berlin',
    start: LATER,
  })
if (has('controls')) {
  await quiet.pause('held')
  await quiet.limit('a', { rate: '10/1m', concurrency: 3 })
}
if (has('keys')) {
  await quiet.limit('c', { perKey: { concurrency: 1 } })
  await quiet.limit('c', { weight: 2 }, { key: 'ü{1}' })
}
await quiet.stop()
