/** Opens the store, looks at all of it in every way there is, and says what it found. */
import { createHash } from 'node:crypto'
import { args, fromBuild, say } from './bare.mjs'

const { FileStore } = await fromBuild('store/file/store.js')
const { takeCensus } = await fromBuild('testing/census.js')
const { VirtualClock } = await fromBuild('testing/virtual-clock.js')
const logger = { debug() {}, info() {}, warn() {}, error() {} }
const context = { queue: 'orders', clock: new VirtualClock(args.now), random: { next: () => 0 }, logger }

try {
  const store = new FileStore({ directory: args.directory, sync: 'full' }, context)
  await store.open()
  const damage = (await store.doctor()).find(
    ({ level, what }) => level === 'problem' && what.startsWith('damaged'),
  )
  if (damage === undefined) {
    const { messages } = await takeCensus(store)
    const sorted = messages.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    say(`whole ${createHash('sha1').update(JSON.stringify(sorted)).digest('hex')}`)
  } else {
    say(`damaged ${damage.what}`)
  }
} catch (error) {
  say(`refused ${error.code} ${error.message.split('\n')[0]}`)
}
