// A process that serves the dashboard of one queue, and counts the calls of its store; as `punctual serve` beside workers in
// processes of their own. The parent's side: `startDashboard({ url, queue, pending })`.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { serve } from '../dist/doors/http/index.js'
import { Punctual } from '../dist/index.js'
import { systemClock } from '../dist/clock.js'
import { systemRandom } from '../dist/random.js'
import { StoreWrapper } from '../dist/store/contract/verbs.js'
import { engineForUrl } from '../dist/store/engines.js'

const DAY_MS = 86_400_000
const BATCH = 10_000
const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** `pending`: so many messages over the next 30 days, in an order that has nothing to do with their moments. */
export async function startDashboard(about) {
  const child = fork(fileURLToPath(import.meta.url), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const ask = async (word) => {
    const answered = once(child, 'message')
    child.send(word)
    const [answer] = await answered
    return answer
  }
  const { port } = await ask(about)
  return {
    ui: `http://127.0.0.1:${port}/ui/${about.queue}`,
    events: `http://127.0.0.1:${port}/v1/queues/${about.queue}/events`,
    /** So far, by verb. */
    calls: () => ask('calls'),
    async stop() {
      const exited = once(child, 'exit')
      child.send('stop')
      await exited
    },
  }
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) obey()

function obey() {
  const calls = {}
  class CountingStore extends StoreWrapper {
    around(verb, _args, call) {
      calls[verb] = (calls[verb] ?? 0) + 1
      return call()
    }
  }
  let stop
  process.on('disconnect', () => process.exit(1))
  process.on('message', (word) => void answer(word))

  async function answer(word) {
    if (word === 'calls') process.send(calls)
    else if (word === 'stop') {
      await stop()
      process.exit(0)
    } else process.send(await open(word))
  }

  async function open({ url, queue: name, pending }) {
    const context = { queue: name, clock: systemClock, random: systemRandom, logger: silent }
    const store = new CountingStore(await engineForUrl(url).open(url, context, {}))
    const queue = new Punctual({ store, queue: name, logger: false })
    await fill(queue, pending)
    const server = serve({ queues: [queue], logger: false })
    stop = async () => {
      await server.close()
      await queue.stop()
    }
    return server.listen({ port: 0 })
  }
}

async function fill(queue, pending) {
  const now = Date.now()
  for (let from = 0; from < pending; from += BATCH)
    await queue.produceMany(
      Array.from({ length: Math.min(BATCH, pending - from) }, (_, i) => ({
        topic: `topic-${i % 5}`,
        payload: { number: from + i },
        at: now + DAY_MS / 1_000 + Math.floor(Math.random() * 30 * DAY_MS),
      })),
    )
}
