// Queues as their own packages write them: what test/process/importing.test.ts imports.
import Bee from 'bee-queue'
import * as bullmq5 from 'bullmq-5'
import * as bullmq6 from 'bullmq-6'
import { Logger, makeWorkerUtils } from 'graphile-worker'
import PgBoss10 from 'pg-boss-10'
import { PgBoss as PgBoss12 } from 'pg-boss-12'

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
    await queue.upsertJobScheduler('ticking', { every: 2 * HOUR_MS }, { name: 'tick', data: { n: 10 } })
    if (version === 5) await queue.add('old', { n: 11 }, { repeat: { pattern: '0 4 1 1 *', tz: 'UTC' } })
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

/** A job whose name cannot be a topic, one whose id is too long, two plain ones and a schedule. */
export async function writeOddNames(version, url, name) {
  const queue = new BULLMQ[version].Queue(name, { connection: connectionOf(url) })
  await queue.pause()
  const delay = HOUR_MS
  await queue.add('two\nlines', { n: 1 }, { jobId: 'odd-name', delay })
  await queue.add('mail', { n: 2 }, { jobId: 'i'.repeat(201), delay })
  await queue.add('mail', { n: 3 }, { jobId: 'plain', delay })
  await queue.add('sms', { n: 4 }, { jobId: 'other', delay })
  await queue.upsertJobScheduler('hourly', { every: HOUR_MS }, { name: 'report', data: { n: 5 } })
  await queue.close()
}

/** Jobs that come due one after the other from now on, and a worker that runs them. */
export async function runManyBullmq(version, url, name, { count, overMs }) {
  const { Queue, Worker } = BULLMQ[version]
  const connection = connectionOf(url)
  const queue = new Queue(name, { connection })
  const jobs = Array.from({ length: count }, (_, n) => ({
    name: 'many',
    data: { n },
    opts: {
      jobId: `job-${n}`,
      delay: Math.floor((n * overMs) / count),
      ...(n % 3 === 0 ? { priority: 5 } : {}),
    },
  }))
  await queue.addBulk(jobs)
  const worker = new Worker(name, async () => undefined, { connection, concurrency: 10 })
  return {
    ids: jobs.map(({ opts }) => opts.jobId),
    completed: () => queue.getCompletedCount(),
    /** Those that it has taken, when it is done with them. */
    stop: async () => {
      await worker.close()
      const taken = (await queue.getJobs(['completed', 'failed'])).map(({ id }) => id)
      await queue.close()
      return taken
    },
  }
}

/** A paused queue with a schedule whose next job is due in some seconds; and a worker for it, which only moves what is due. */
export async function writeDue(version, url, name) {
  const { Queue, Worker } = BULLMQ[version]
  const connection = connectionOf(url)
  const queue = new Queue(name, { connection })
  await queue.pause()
  const everyMs = HOUR_MS
  const startDate = Date.now() + 25_000
  await queue.upsertJobScheduler('soon', { every: everyMs, startDate }, { name: 'tick', data: { n: 1 } })
  const [{ next }] = await queue.getJobSchedulers()
  return {
    nextAt: next,
    queue: {
      workPaused: async () => new Worker(name, async () => undefined, { connection }),
      waiting: async () => (await queue.getJobs(['wait', 'paused'])).map(({ id }) => id),
      close: () => queue.close(),
    },
  }
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

/** Jobs of bee-queue of which a half waits and the others come due one after the other, and a worker that runs them. */
export async function runManyBee(url, name, { count, overMs }) {
  const queue = new Bee(name, { redis: url, getEvents: false, sendEvents: false, activateDelayedJobs: true })
  await queue.ready()
  const ids = Array.from({ length: count }, (_, n) => `job-${n}`)
  const now = Date.now()
  const jobs = ids.map((id, n) => {
    const job = queue.createJob({ n }).setId(id)
    return n % 2 === 0 ? job : job.delayUntil(now + Math.floor((n * overMs) / count))
  })
  await queue.saveAll(jobs)
  const taken = []
  queue.process(10, async ({ id }) => void taken.push(id))
  return { ids, completed: async () => taken.length, stop: async () => (await queue.close(), taken) }
}

const PG_BOSS = { 10: PgBoss10, 12: PgBoss12 }

async function withBoss(version, url, work) {
  const boss = new PG_BOSS[version]({ connectionString: url, schedule: false, supervise: false })
  boss.on('error', () => undefined)
  await boss.start()
  try {
    return await work(boss)
  } finally {
    await boss.stop({ graceful: false, wait: true, close: true })
  }
}

/** One job of pg-boss in every state. Resolves to their ids. */
export function writePgBoss(version, url) {
  return withBoss(version, url, async (boss) => {
    const fail = async (name, id, error) => {
      const [job] = await boss.fetch(name)
      if (job.id !== id) throw new Error(`another job than ${id} was fetched`)
      await boss.fail(name, id, new Error(error))
    }
    await boss.createQueue('mail-dead')
    await boss.createQueue('mail', {
      retryLimit: 5,
      retryDelay: 60,
      retryBackoff: true,
      expireInSeconds: 90,
      deadLetter: 'mail-dead',
    })
    for (const name of ['invoice', 'report', 'parent', 'child']) await boss.createQueue(name)
    const retry = await boss.send('mail', { n: 0 })
    await fail('mail', retry, 'smtp down')
    const dead = await boss.send('mail', { n: 1 }, { retryLimit: 0 })
    await fail('mail', dead, 'no such address')
    const failed = await boss.send('invoice', { n: 2 }, { retryLimit: 0 })
    await fail('invoice', failed, 'boom')
    const active = await boss.send('invoice', { n: 3 })
    await boss.fetch('invoice')
    const done = await boss.send('report', { n: 4 })
    await boss.fetch('report')
    await boss.complete('report', done)
    const now = await boss.send('mail', { n: 5, text: 'ä"\u2028' })
    const later = await boss.send('mail', { n: 6 }, { startAfter: 3_600, priority: 10 })
    const low = await boss.send('mail', { n: 7 }, { startAfter: 3_600, priority: -1 })
    const empty = await boss.send('invoice', null, { startAfter: 7_200, retryDelay: 5 })
    const single = await boss.send('invoice', { n: 8 }, { singletonKey: 'k', startAfter: 600 })
    await boss.schedule('report', '0 3 * * *', { day: 1 }, { tz: 'Europe/Berlin', retryLimit: 4 })
    if (version === 12) {
      await boss.schedule(
        'report',
        '*/5 * * * *',
        { day: 2 },
        { key: 'often', expireInSeconds: 120, singletonKey: 'one', missed: 'once' },
      )
      await boss.flow([
        { name: 'parent', data: {}, ref: 'first', options: { startAfter: 3_600 } },
        { name: 'child', data: {}, ref: 'second', dependsOn: ['first'] },
      ])
    }
    return { retry, dead, failed, active, done, now, later, low, empty, single }
  })
}

/** Sends jobs one after the other until told to stop. Resolves to their ids. */
export function sendPgBoss(version, url, signal, { delayS = 3_600 } = {}) {
  return withBoss(version, url, async (boss) => {
    await boss.createQueue('stream')
    const ids = []
    while (!signal.aborted) ids.push(await boss.send('stream', { n: ids.length }, { startAfter: delayS }))
    return ids
  })
}

/** Runs them until told to stop. Resolves to the ids of those that it ran. */
export function workPgBoss(version, url, signal) {
  return withBoss(version, url, async (boss) => {
    const ids = []
    while (!signal.aborted) {
      for (const { id } of (await boss.fetch('stream')) ?? []) {
        ids.push(id)
        await boss.complete('stream', id)
      }
    }
    return ids
  })
}

/** Many plain jobs that are due in an hour. */
export function writeManyPgBoss(version, url, count) {
  return withBoss(version, url, async (boss) => {
    await boss.createQueue('many')
    const jobs = Array.from({ length: count }, (_, n) => ({ data: { n }, startAfter: 3_600 }))
    if (version === 12) await boss.insert('many', jobs)
    else await boss.insert(jobs.map((job) => ({ ...job, name: 'many' })))
  })
}

/** Jobs of Graphile Worker: one that is due, one in an hour, one that failed for good. Resolves to their ids. */
export async function writeGraphile(url) {
  const utils = await makeWorkerUtils({ connectionString: url, logger: new Logger(() => () => undefined) })
  try {
    await utils.migrate()
    const now = await utils.addJob('mail', { n: 1, text: 'ä"\u2028' })
    const later = await utils.addJob(
      'report',
      { n: 2 },
      { runAt: new Date(Date.now() + HOUR_MS), jobKey: 'k' },
    )
    const failed = await utils.addJob('mail', { n: 3 })
    await utils.permanentlyFailJobs([failed.id], 'boom')
    return { now: now.id, later: later.id, laterAt: later.run_at.getTime(), failed: failed.id }
  } finally {
    await utils.release()
  }
}
