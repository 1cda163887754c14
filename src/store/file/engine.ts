import type { Engine } from '../engine.ts'

export const file: Engine<never> = {
  name: 'file',
  schemes: ['file:'],
  urls: ['file:PATH'],
  example: 'file:.punctual',
  help: 'messages live in a directory, safe on the disk, shared by the processes of one machine',
  reach: 'machine',
  options: {},
  open: async (url, context) => {
    const { openFileStore } = await import('./open.ts')
    return openFileStore(url, context)
  },
  exists: async (url) => {
    const { fileStoreExists } = await import('./open.ts')
    return fileStoreExists(url)
  },
  probe: () => Promise.resolve(),
  queues: async (url) => {
    const { listQueues } = await import('./queues.ts')
    return listQueues(url)
  },
  migrate: async (url) => {
    const { migrateStore } = await import('./queues.ts')
    return migrateStore(url)
  },
}
