// bee-queue, tuned: `delayedDebounce: 1` (with its default a delayed job is up to a second late), events off.
import BeeQueue from 'bee-queue'

const settings = (port) => ({
  redis: { host: '127.0.0.1', port },
  delayedDebounce: 1,
  activateDelayedJobs: true,
  getEvents: false,
  sendEvents: false,
  storeJobs: false,
  removeOnSuccess: true,
})

function jobFor(queue, message) {
  const job = queue.createJob(message)
  return message.dueAt === 0 ? job : job.delayUntil(message.dueAt)
}

export const contestants = {
  'bee-queue': {
    name: 'bee-queue',
    server: 'redis',
    note: 'tuned: delayedDebounce 1',
    async openProducer({ port, queue: name }) {
      const queue = new BeeQueue(name, { ...settings(port), isWorker: false, activateDelayedJobs: false })
      await queue.ready()
      return {
        bulk: 1_000,
        one: (message) => jobFor(queue, message).save(),
        many: async (messages) => {
          const errors = await queue.saveAll(messages.map((message) => jobFor(queue, message)))
          if (errors.size > 0) throw new Error(`bee-queue refused ${errors.size} jobs`)
        },
        close: () => queue.close(1_000),
      }
    },
    async openWorker({ port, queue: name, concurrency }, handle) {
      const queue = new BeeQueue(name, settings(port))
      queue.on('error', () => {})
      await queue.ready()
      queue.process(concurrency, (job) => handle(job.data))
      return { close: () => queue.close(1_000) }
    },
  },
}
