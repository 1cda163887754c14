// BullMQ with its defaults, but completed jobs are removed, as everybody else does.
import { Queue, Worker } from 'bullmq'

const options = { removeOnComplete: true, removeOnFail: false }
const delayFor = ({ dueAt }) =>
  dueAt === 0 ? options : { ...options, delay: Math.max(0, dueAt - Date.now()) }

export const contestants = {
  bullmq: {
    name: 'bullmq',
    server: 'redis',
    async openProducer({ port, queue: name }) {
      const queue = new Queue(name, { connection: { host: '127.0.0.1', port } })
      await queue.waitUntilReady()
      return {
        bulk: 1_000,
        one: (message) => queue.add('bench', message, delayFor(message)),
        many: (messages) =>
          queue.addBulk(messages.map((data) => ({ name: 'bench', data, opts: delayFor(data) }))),
        close: () => queue.close(),
      }
    },
    async openWorker({ port, queue: name, concurrency }, handle) {
      const worker = new Worker(name, (job) => handle(job.data), {
        connection: { host: '127.0.0.1', port, maxRetriesPerRequest: null },
        concurrency,
      })
      worker.on('error', () => {})
      await worker.waitUntilReady()
      return { close: () => worker.close(true) }
    },
  },
}
