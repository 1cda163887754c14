// A producer that never says stop(). `isAwaited: false`: its last line is the call. `stays`: until SIGUSR2.
import { Punctual } from '../../../dist/index.js'

const { store, id, isAwaited = true, stays = false } = JSON.parse(process.argv[2])
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
const warn = (text) => say({ warned: text })
const queue = new Punctual({ store, queue: 'leaving', logger: { warn, error: warn } })

if (stays) {
  const stay = setInterval(() => undefined, 1_000_000)
  process.once('SIGUSR2', () => clearInterval(stay))
}
const produced = queue.produce('t', { some: 'thing' }, { id, delay: '1h' })
if (isAwaited) {
  await produced
  say({ stats: (await queue.stats()).counts })
}
