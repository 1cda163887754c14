/** Meets a lock that another process holds: says how its call ended, and how long its event loop stood still. */
import { args, context, fromBuild, say } from './context.mjs'

const { FileStore } = await fromBuild('store/file/store.js')
let [last, stood] = [performance.now(), 0]
const beat = setInterval(() => {
  stood = Math.max(stood, performance.now() - last)
  last = performance.now()
}, 10)
const store = new FileStore({ directory: args.directory, sync: 'full' }, context)
const outcome = async (call) => {
  const begun = performance.now()
  const how = await call().then(
    () => 'resolved',
    (error) => `rejected ${error.name} ${error.code}`,
  )
  return `${how} after ${Math.round(performance.now() - begun)}`
}
const message = {
  id: 'stuck',
  topic: 't',
  body: '1',
  meta: '',
  priority: 1,
  when: { delayMs: 0 },
  ifExists: 'keep',
}
say(`open ${await outcome(() => store.open())}`)
say(`count ${await outcome(() => store.count())}`)
say(`put ${await outcome(() => store.put([message]))}`)
clearInterval(beat)
say(`stood ${Math.round(stood)}`)
// The put of this call is under way when the process ends.
store.put([message]).catch(() => {})
setTimeout(() => process.exit(0), 50)
