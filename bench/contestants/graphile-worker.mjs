// Graphile Worker with its defaults, and at its fastest: asking every 10 ms, with a local queue, completing in batches.
import { makeWorkerUtils, run } from 'graphile-worker'
import { urlFor } from '../postgres-server.mjs'

const specFor = ({ dueAt }) => (dueAt === 0 ? {} : { runAt: new Date(dueAt) })
const silent = { logger: undefined }

function contestant(name, preset) {
  return {
    name,
    server: 'postgres',
    async openProducer(context) {
      const utils = await makeWorkerUtils({ connectionString: urlFor(context) })
      await utils.migrate()
      return {
        bulk: 500,
        one: (message) => utils.addJob('bench', message, specFor(message)),
        many: (messages) =>
          utils.addJobs(messages.map((payload) => ({ identifier: 'bench', payload, ...specFor(payload) }))),
        close: () => utils.release(),
      }
    },
    async openWorker(context, handle) {
      const runner = await run({
        ...silent,
        connectionString: urlFor(context),
        concurrency: context.concurrency,
        noHandleSignals: true,
        taskList: { bench: (payload) => handle(payload) },
        ...preset,
      })
      return { close: () => runner.stop() }
    },
  }
}

export const contestants = {
  'graphile-worker': contestant('graphile-worker', {}),
  'graphile-worker-fastest': contestant('graphile-worker-fastest', {
    pollInterval: 10,
    preset: { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
  }),
}
