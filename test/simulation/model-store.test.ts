/** The model that simulations run on keeps the same contract as every engine. */
import { describe, it } from 'vitest'
import { ModelStore } from '../../simulation/world/model-store.ts'
import { conformance } from '../../src/testing/conformance/index.ts'

conformance(
  'the model',
  async () => {
    let now = Date.UTC(2030, 0, 1)
    const store = new ModelStore(() => now, { batchMax: 1_000, leadMs: 25 })
    return {
      store,
      advance: async (ms) => {
        now += ms
      },
      another: async () => store,
      close: () => store.close(),
    }
  },
  { describe, it },
)
