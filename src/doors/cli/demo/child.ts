/** A worker of its own process for `demo --crash`: does a little work per message, and tells its parent. */
import { systemClock } from '../../../clock.ts'
import { Punctual } from '../../../index.ts'
import { DEMO_SETTINGS, workHere } from './worker.ts'

/** Long enough that some message is always in its hands when it is killed. */
const WORK_MS = 250

const [store = '', queueName = ''] = process.argv.slice(2)
// Without a log: the screen is the parent's.
const queue = new Punctual({ store, queue: queueName, logger: false, ...DEMO_SETTINGS })

// The parent is the one who hears Ctrl-C; it tells us by SIGTERM. Without a parent its work has no purpose.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => void end())
process.on('disconnect', () => void end())

let lastSent = Promise.resolve()

await workHere(
  queue,
  (report) => {
    lastSent = new Promise((resolve) => process.send?.(report, () => resolve()))
  },
  () => new Promise((resolve) => void systemClock.schedule(WORK_MS, resolve)),
)

async function end(): Promise<void> {
  await queue.stop()
  await lastSent
  if (process.connected) process.disconnect()
}
