import { describe, it } from 'vitest'
import { conformance } from '../../../src/testing/conformance/index.ts'
import { VirtualClock } from '../../../src/testing/virtual-clock.ts'
import { openStore, temporaryDirectory } from './bench.ts'

conformance(
  'file',
  async () => {
    const clock = new VirtualClock()
    const { directory, remove } = await temporaryDirectory()
    const store = await openStore(directory, { clock })
    const stores = [store]
    return {
      store,
      advance: (ms) => clock.advance(ms),
      another: async () => {
        const other = await openStore(directory, { clock })
        stores.push(other)
        return other
      },
      close: async () => {
        for (const opened of stores) await opened.close()
        await remove()
      },
    }
  },
  { describe, it },
)
