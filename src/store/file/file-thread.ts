/** What runs on the thread of a file store. Bundlers find it by the address in `spawn.ts`. */
import { parentPort, workerData } from 'node:worker_threads'
import { EngineHost } from '../thread/host.ts'
import type { ThreadData } from '../thread/protocol.ts'
import { FileEngine, type FileEngineOptions } from './on-thread.ts'

if (parentPort !== null) {
  const data = workerData as ThreadData<FileEngineOptions>
  new EngineHost(new FileEngine(data.options), parentPort, data).listen()
}
