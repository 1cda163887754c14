/** What the child programs share: the store they were told to open, and a line to their parent. */
import { writeSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

/** @type {{ build: string, directory: string, queue?: string, seed: number, name: string, count: number, stop: string, leaseMs: number }} */
export const args = JSON.parse(process.argv[2])

export const fromBuild = (file) => import(pathToFileURL(path.join(args.build, file)).href)

/** Synchronous, so that whatever was said before a SIGKILL was really said. */
export const say = (line) => writeSync(1, `${line}\n`)

const { systemClock } = await fromBuild('clock.js')
const { systemRandom } = await fromBuild('random.js')
const { FileStore } = await fromBuild('store/file/store.js')

export const context = {
  queue: args.queue ?? 'orders',
  clock: systemClock,
  random: systemRandom,
  logger: { debug() {}, info() {}, warn: say, error: say },
}

export const store = new FileStore({ directory: args.directory, sync: 'full' }, context)
await store.open()

export const message = (id, fields = {}) => ({
  id,
  topic: 'order.close',
  body: JSON.stringify({ id }),
  meta: '',
  priority: 1,
  when: { delayMs: 0 },
  ifExists: 'keep',
  ...fields,
})

export const claim = (limit, leaseMs = 30_000) =>
  store.claim({ from: 'due', wants: [{ topic: 'order.close', limit }], limit, leaseMs, leadMs: 0 })

export const ref = ({ id, token, topic }) => ({ id, token, topic })
