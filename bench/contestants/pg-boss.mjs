// pg-boss, asking as often as it lets us, in batches.
import PgBoss from 'pg-boss'
import { urlFor } from '../postgres-server.mjs'

const optionsFor = ({ dueAt }) => (dueAt === 0 ? {} : { startAfter: new Date(dueAt) })

async function open(context) {
  const boss = new PgBoss({ connectionString: urlFor(context) })
  boss.on('error', () => {})
  await boss.start()
  await boss.createQueue(context.queue)
  return boss
}

export const contestants = {
  'pg-boss': {
    name: 'pg-boss',
    server: 'postgres',
    async openProducer(context) {
      const boss = await open(context)
      return {
        bulk: 500,
        one: (message) => boss.send(context.queue, message, optionsFor(message)),
        many: (messages) =>
          boss.insert(messages.map((data) => ({ name: context.queue, data, ...optionsFor(data) }))),
        close: () => boss.stop({ graceful: false }),
      }
    },
    async openWorker(context, handle) {
      const boss = await open(context)
      await boss.work(
        context.queue,
        { batchSize: context.concurrency, pollingIntervalSeconds: 0.5 },
        async (jobs) => void (await Promise.all(jobs.map(({ data }) => handle(data)))),
      )
      return { close: () => boss.stop({ graceful: false }) }
    },
  },
}
