/**
 * Lives on a store that may be damaged: a worker, and every verb. Says `untyped` and what, when something comes that is
 * no error of punctual's, `spinning` when the worker fails without a pause, or `through` with the codes it met.
 */
import { args, fromBuild, say } from './bare.mjs'

const { Punctual, PunctualError } = await fromBuild('index.js')
const { systemClock } = await fromBuild('clock.js')

const WORK_MS = 500
const FAILURES_MAX = 60
const begunAt = systemClock.now()
const clock = { ...systemClock, now: () => args.now + systemClock.now() - begunAt }
const met = new Set()
let failures = 0
const note = (message) => {
  failures += 1
  met.add(/STORE_\w+|INVARIANT.*/.exec(message)?.[0] ?? 'logged')
}
const logger = { debug() {}, info() {}, warn: note, error: note }

const attempt = async (call) => {
  try {
    await call()
  } catch (error) {
    if (!(error instanceof PunctualError)) {
      say(`untyped ${error.stack.replaceAll('\n', ' | ')}`)
      process.exit(0)
    }
    met.add(error.code === 'INVARIANT' ? `INVARIANT (${error.message})` : error.code)
  }
}

const queue = new Punctual({
  store: `file:${args.directory}?sync=off`,
  queue: 'orders',
  clock,
  logger,
  lease: '1s',
  fallback: '100ms',
  stopTimeout: '1s',
})
queue.on('error', ({ message }) => note(message))
for (const topic of args.topics) queue.handle(topic, () => undefined)

await attempt(() => queue.start())
await attempt(() => queue.produce(args.topics[0], 1, { id: 'fresh' }))
await new Promise((resolve) => setTimeout(resolve, WORK_MS))
if (failures > FAILURES_MAX) say(`spinning ${failures}`)
for (const state of ['delayed', 'ready', 'running', 'dead']) {
  await attempt(() => queue.list({ state }))
  await attempt(() => queue.list({ state, topic: args.topics[1] }))
}
await attempt(() => queue.stats())
await attempt(() => queue.doctor())
for (let i = 0; i < 20; i += 1) {
  await attempt(() => queue.get(`late${i}`))
  await attempt(() => queue.reschedule(`late${i}`, { delay: '2h' }))
  await attempt(() => queue.produce(args.topics[0], 1, { id: `late${i}`, ifExists: 'replace', delay: '2h' }))
  await attempt(() => queue.cancel(`late${i}`))
}
await attempt(() => queue.revive({ state: 'dead' }))
await attempt(() => queue.purge({ state: 'delayed' }))
await attempt(() => queue.stop())
say(`through ${[...met].join(' ')}`)
