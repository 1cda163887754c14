// punctual with its defaults: leases, fencing, order, retries, lateness gauge and events are all on.
import { Punctual } from '../../dist/index.js'
import { urlFor as mysqlUrl } from '../mysql-server.mjs'
import { urlFor as postgresUrl } from '../postgres-server.mjs'

const BULK = 1_000

const optionsFor = ({ dueAt }) => (dueAt === 0 ? {} : { at: dueAt })

/** The topics take turns. */
const topicFor = ({ topics }, { n }) => `bench-${n % topics}`

function contestant(name, server, urlFor) {
  const open = (context) =>
    new Punctual({ store: urlFor(context), queue: context.queue, concurrency: context.concurrency })
  // The memory engine lives in one process: producer and worker are the same queue.
  let shared
  const openOnce = (context) => (server === 'none' ? (shared ??= open(context)) : open(context))
  return {
    name,
    server,
    isInProcess: server === 'none',
    async openProducer(context) {
      const queue = openOnce(context)
      await queue.stats()
      return {
        bulk: BULK,
        one: (message) => queue.produce(topicFor(context, message), message, optionsFor(message)),
        many: (messages) =>
          queue.produceMany(
            messages.map((message) => ({
              topic: topicFor(context, message),
              payload: message,
              ...optionsFor(message),
            })),
          ),
        close: () => queue.stop(),
      }
    },
    async openWorker(context, handle) {
      const queue = openOnce(context)
      for (let n = 0; n < context.topics; n += 1)
        queue.handle(topicFor(context, { n }), ({ payload }) => handle(payload))
      await queue.start()
      return { close: () => queue.stop() }
    },
  }
}

export const contestants = {
  'punctual-redis': contestant('punctual-redis', 'redis', ({ port }) => `redis://127.0.0.1:${port}`),
  'punctual-postgres': contestant('punctual-postgres', 'postgres', postgresUrl),
  'punctual-mysql': contestant('punctual-mysql', 'mysql', mysqlUrl),
  'punctual-file': contestant('punctual-file', 'file', ({ directory }) => `file:${directory}`),
  'punctual-memory': contestant('punctual-memory', 'none', () => 'memory:'),
}
