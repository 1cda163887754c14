// What a queue of BullMQ holds after a while in use, besides plain jobs: what test/process/importing-bullmq.long.test.ts imports.
// A program of its own, because BullMQ reads cron expressions without a zone in that of the process, which is TZ.
//   TZ=America/New_York node odd.mjs VERSION URL NAME
import { BULLMQ, connectionOf } from './write.mjs'

const HOUR_MS = 3_600_000
const [, , version, url, name] = process.argv
const { Queue, Worker } = BULLMQ[version]
const connection = connectionOf(url)
const queue = new Queue(name, { connection })
const worker = new Worker(name, async () => undefined, { connection, autorun: false })

/** Adds a job and lets it fail, so often. */
async function fail(times, ...job) {
  if (job.length > 0) await queue.add(...job)
  for (let failures = 0; failures < times; failures += 1) {
    const taken = await worker.getNextJob('token')
    await taken.moveToFailed(new Error('boom'), 'token', false)
  }
}

// An occurrence that failed and waits for its retry, while its schedule has made the next one.
await queue.upsertJobScheduler(
  'polling',
  { every: HOUR_MS },
  { name: 'poll', data: { n: 1 }, opts: { attempts: 2, backoff: { type: 'fixed', delay: HOUR_MS } } },
)
await fail(1)
await fail(2, 'work', { n: 2 }, { jobId: 'by-hand', attempts: 2 })
const byHand = await queue.getJob('by-hand')
await byHand.retry()
await queue.pause()
await queue.add('', { n: 3 }, { jobId: 'nameless' })
await queue.add(
  'work',
  { n: 4 },
  { jobId: 'jittered', attempts: 3, backoff: { type: 'fixed', delay: 1_000, jitter: 0.5 } },
)
await queue.upsertJobScheduler('daily', { pattern: '0 9 * * *' }, { name: 'report', data: { n: 5 } })
// Half an hour from now, so that its moment does not pass while it is imported.
const minute = (new Date().getMinutes() + 30) % 60
await queue.upsertJobScheduler('hourly', { pattern: `${minute} * * * *` }, { name: 'report', data: { n: 6 } })
await queue.upsertJobScheduler('too-often', { every: 500 }, { name: 'tick', data: { n: 7 } })
await queue.upsertJobScheduler(
  'own-backoff',
  { pattern: '0 0 1 1 *', tz: 'UTC' },
  { name: 'report', data: { n: 8 }, opts: { attempts: 9, backoff: { type: 'moon' } } },
)
await queue.upsertJobScheduler(
  'secondly',
  { pattern: '* * * * * *', tz: 'UTC', limit: 5 },
  { name: 'tick', data: { n: 9 } },
)
const schedulers = await queue.getJobSchedulers()
const nextOf = (id) => schedulers.find(({ key }) => key === id).next
// Its moment passes while nothing runs.
while (Date.now() <= nextOf('secondly')) await new Promise((resolve) => setTimeout(resolve, 20))
process.stdout.write(JSON.stringify({ dailyAt: nextOf('daily'), secondlyAt: nextOf('secondly') }))
await worker.close(true)
await queue.close()
