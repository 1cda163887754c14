import type { Engine } from '../engine.ts'

export const memory: Engine<never> = {
  name: 'memory',
  schemes: ['memory:'],
  urls: ['memory:'],
  example: 'memory:',
  help: 'messages live in this process and end with it; for tests',
  reach: 'process',
  options: {},
  open: async (_url, { clock }) => {
    const { MemoryStore } = await import('./store.ts')
    return new MemoryStore(clock)
  },
  exists: () => Promise.resolve(true),
  probe: () => Promise.resolve(),
  // A store of this engine has one owner, who knows its queue.
  queues: () => Promise.resolve({ names: [], isComplete: true }),
  migrate: () => Promise.resolve(undefined),
}
