// Queues as their own packages write them: what test/process/importing.test.ts imports.
import Bee from 'bee-queue'
import * as bullmq5 from 'bullmq-5'
import * as bullmq6 from 'bullmq-6'
import PgBoss from 'pg-boss'

export const BULLMQ = { 5: bullmq5, 6: bullmq6 }

const HOUR_MS = 3_600_000

export function connectionOf(url) {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port), maxRetriesPerRequest: null }
}

/** One job of every kind. Resolves to the moments by which they can be checked. */
export async function writeBullmq(version, url, name) {
  const { FlowProducer, Queue, Worker } = BULLMQ[version]
  const connection = connectionOf(url)
  const queue = new Queue(name, { connection })
  const flows = new FlowProducer({ connection })
  const worker = new Worker(name, async () => undefined, { connection, autorun: false })
  try {
    await queue.add(
      'failing',
      { n: 0 },
      { jobId: 'failed-once', attempts: 3, backoff: { type: 'fixed', delay: HOUR_MS } },
    )
    const failing = await worker.getNextJob('token')
    await failing.moveToFailed(new Error('boom'), 'token', false)
    await queue.add('failing', { n: 14 }, { jobId: 'failed-for-good' })
    const broken = await worker.getNextJob('token')
    await broken.moveToFailed(new Error('bang'), 'token', false)
    await queue.add('busy', { n: 1 }, { jobId: 'busy-one' })
    await worker.getNextJob('token')
    await queue.add('mail', { n: 2 }, { jobId: 'first' })
    await queue.add(
      'mail',
      { n: 3 },
      { jobId: 'second', attempts: 4, backoff: { type: 'exponential', delay: 1_000 } },
    )
    await queue.add('mail', { n: 4 }, { jobId: 'urgent', priority: 1 })
    await queue.add('mail', { n: 5 }, { jobId: 'whenever', priority: 500 })
    const delayed = await queue.add('mail', { n: 6, text: 'é\u2028' }, { jobId: 'later', delay: HOUR_MS })
    await queue.add(
      'mail',
      { n: 7 },
      { jobId: 'custom', delay: HOUR_MS, attempts: 2, backoff: { type: 'moon', delay: 7 } },
    )
    await queue.add('mail', { n: 8 }, { jobId: 'once', delay: HOUR_MS, deduplication: { id: 'd' } })
    await queue.upsertJobScheduler(
      'nightly',
      { pattern: '0 3 * * *', tz: 'Europe/Berlin', limit: 10 },
      { name: 'report', data: { n: 9 }, opts: { attempts: 3 } },
    )
    await queue.upsertJobScheduler('ticking', { every: 60_000 }, { name: 'tick', data: { n: 10 } })
    if (version === 5) await queue.add('old', { n: 11 }, { repeat: { pattern: '*/5 * * * *', tz: 'UTC' } })
    await flows.add({
      name: 'parent',
      queueName: name,
      children: [{ name: 'child', queueName: name, data: { n: 12 } }],
    })
    await queue.pause()
    await queue.add('mail', { n: 13 }, { jobId: 'while-paused' })
    const [ticking] = (await queue.getJobSchedulers()).filter(({ key }) => key === 'ticking')
    const { finishedOn: failedAt } = await queue.getJob('failed-for-good')
    return { laterAt: delayed.timestamp + HOUR_MS, tickAt: ticking.next, failedAt }
  } finally {
    await worker.close(true)
    await flows.close()
    await queue.close()
  }
}

/** Many plain jobs that are due in an hour. */
export async function writeManyBullmq(version, url, name, count) {
  const queue = new BULLMQ[version].Queue(name, { connection: connectionOf(url) })
  const jobs = Array.from({ length: count }, (_, n) => ({
    name: 'many',
    data: { n },
    opts: { jobId: `job-${n}`, delay: HOUR_MS },
  }))
  await queue.pause()
  await queue.addBulk(jobs)
  await queue.close()
}

export async function writeBee(url, name) {
  const settings = {
    redis: url,
    isWorker: false,
    getEvents: false,
    sendEvents: false,
    activateDelayedJobs: false,
  }
  const queue = new Bee(name, settings)
  try {
    await queue.createJob({ n: 1 }).save()
    await queue.createJob({ n: 2 }).retries(3).backoff('exponential', 1_000).timeout(5_000).save()
    const laterAt = Date.now() + HOUR_MS
    await queue.createJob({ n: 3 }).setId('later').delayUntil(laterAt).retries(2).backoff('fixed', 500).save()
    return { laterAt }
  } finally {
    await queue.close()
  }
}

/** Two jobs of pg-boss: one that is due, one in an hour. */
export async function writePgBoss(url) {
  const boss = new PgBoss({ connectionString: url, schedule: false, supervise: false })
  await boss.start()
  try {
    await boss.createQueue('mail')
    const now = await boss.send('mail', { n: 1 })
    const later = await boss.send('mail', { n: 2 }, { startAfter: 3_600 })
    return { now, later }
  } finally {
    await boss.stop({ graceful: false, wait: true })
  }
}
