import { describe, it } from 'vitest'
import { MemoryStore } from '../../src/store/memory/store.ts'
import { conformance } from '../../src/testing/conformance/index.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'

conformance(
  'memory',
  async () => {
    const clock = new VirtualClock()
    const store = new MemoryStore(clock)
    await store.open()
    return { store, advance: (ms) => clock.advance(ms), close: () => store.close() }
  },
  { describe, it },
)
