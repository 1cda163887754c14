/** Several stores as one keep the contract too, but for what holds within one partition only. */
import { describe, it } from 'vitest'
import { MemoryStore } from '../../../src/store/memory/store.ts'
import { PartitionedStore } from '../../../src/store/partitioned/store.ts'
import { CONFORMANCE_TESTS } from '../../../src/testing/conformance/index.ts'
import { VirtualClock } from '../../../src/testing/virtual-clock.ts'

const PARTITIONS = 3

/** Each partition keeps these, and the whole does not: it is no single line, no single call and no single book. */
const WITHIN_ONE = [
  /^(?:P5, )?P7: /, // Order, and limits over what one claim hands out.
  /^next: EXPIRED while more/, // A claim that has enough does not know what the partitions hold that it did not ask.
  /^P8: (?:more lapsed than one call takes|lapsed leases of the asker’s own do not stand)/,
  /^P10: (?:a claim hands out at most|a body larger than a claim’s|a claim’s bytes hold|a batch of as many bytes)/,
  /^P10: a walk over dead messages/, // Each partition's walk begins when it is reached.
  /^(?:figures: what is recorded|P10: so many topics of a minute)/, // Rows of one minute come from several books.
  /^P8: one call may end several/,
  /^P15: (?:an ack stores|among others|again carries|what an ack carries|one that cannot be stored)/, // Follow-ups live with their message: these ids do not.
  /^P10: a settlement carries at most/,
]

describe('conformance: three stores as one', () => {
  for (const test of CONFORMANCE_TESTS) {
    if (WITHIN_ONE.some((name) => name.test(test.name))) continue
    it(test.name, async () => {
      const clock = new VirtualClock()
      const store = new PartitionedStore(Array.from({ length: PARTITIONS }, () => new MemoryStore(clock)))
      await store.open()
      await test.run({ store, advance: (ms) => clock.advance(ms), close: () => store.close() })
      await store.close()
    })
  }
})
