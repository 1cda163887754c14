/** The whole contract on files: a queue for each case in one directory, whose thread stays while `keeper` is open. */
import { afterAll, beforeAll, describe, it } from 'vitest'
import type { FileStore } from '../../../src/store/file/store.ts'
import { conformance } from '../../../src/testing/conformance/index.ts'
import { VirtualClock } from '../../../src/testing/virtual-clock.ts'
import { freshQueue } from '../redis/stores.ts'
import { openStore, temporaryDirectory, type TemporaryDirectory } from './bench.ts'

let place: TemporaryDirectory
let keeper: FileStore

beforeAll(async () => {
  place = await temporaryDirectory()
  keeper = await openStore(place.directory, { queue: 'keeper' })
})

afterAll(async () => {
  await keeper?.close()
  await place.remove()
})

conformance(
  'file',
  async () => {
    const clock = new VirtualClock()
    const queue = freshQueue()
    const open = (): Promise<FileStore> => openStore(place.directory, { clock, queue })
    const stores = [await open()]
    const [store] = stores
    if (store === undefined) throw new Error('unreachable')
    return {
      store,
      advance: (ms) => clock.advance(ms),
      another: async () => {
        const other = await open()
        stores.push(other)
        return other
      },
      close: async () => {
        await Promise.all(stores.map((opened) => opened.close()))
      },
    }
  },
  { describe, it },
)
