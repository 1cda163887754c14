// What repeats in BullMQ, as it writes it: what test/process/importing-bullmq-repeatable.long.test.ts imports.
import { BULLMQ, connectionOf } from './write.mjs'

/**
 * Repeatable jobs of BullMQ 5, which are no job schedulers, in a paused queue: each with another kind of key. The two oldest
 * have keys as versions before 5.10 wrote them, which later ones keep; those wrote no hash.
 */
export async function writeRepeatables(url, name, { repeat, ...options }) {
  const { Queue, Worker } = BULLMQ[5]
  const connection = connectionOf(url)
  const queue = new Queue(name, { connection })
  const client = await queue.client
  const oldKey = (job) => `${job}:::${repeat.tz}:${repeat.pattern}`
  await queue.pause()
  for (const job of ['oldest', 'unhashed']) await client.zadd(queue.toKey('repeat'), Date.now(), oldKey(job))
  const names = ['hashed', 'with-id', 'named', 'oldest', 'unhashed']
  for (const [n, job] of names.entries())
    await queue.add(
      job,
      { n },
      {
        ...options,
        repeat: { ...repeat, ...(job === 'named' ? { key: 'my-own-key' } : {}) },
        ...(job === 'with-id' ? { jobId: 'x1' } : {}),
      },
    )
  await client.del(queue.toKey(`repeat:${oldKey('unhashed')}`))
  return {
    names,
    /** Runs a worker until each has run so often, and pauses again. Resolves to how often each ran. */
    run: async (times) => {
      const ran = Object.fromEntries(names.map((job) => [job, 0]))
      await queue.resume()
      const worker = new Worker(name, async (job) => void (ran[job.name] += 1), { connection })
      while (names.some((job) => ran[job] < times)) await new Promise((resolve) => setTimeout(resolve, 20))
      await queue.pause()
      await worker.close()
      return ran
    },
    hash: (key) => client.hgetall(queue.toKey(`repeat:${key}`)),
    close: () => queue.close(),
  }
}

/** A job scheduler whose next job was taken out by hand. */
export async function writeWithoutNext(version, url, name) {
  const queue = new BULLMQ[version].Queue(name, { connection: connectionOf(url) })
  await queue.pause()
  const { id } = await queue.upsertJobScheduler(
    'nightly',
    { pattern: '0 3 * * *', tz: 'UTC' },
    { name: 'report', data: { n: 1 } },
  )
  await (await queue.client).del(queue.toKey(id))
  await (await queue.client).zrem(queue.toKey('delayed'), id)
  await queue.close()
}
