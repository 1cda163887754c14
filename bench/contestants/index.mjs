// Who takes part. Each contestant is a file that exports:
//   name, server ('redis' | 'postgres' | 'mysql' | 'beanstalkd' | 'file' | 'none'), isInProcess (producer and worker must share a process),
//   isCoarse (delays in whole seconds), note
//   openProducer(context) -> { one(message), many(messages), close() }
//   openWorker(context, handle) -> { close() }        context: { port, directory, queue, concurrency }
// A message is { n, dueAt, pad }; dueAt is epoch milliseconds, 0 for now. `handle(message)` returns a promise.
const FILES = {
  'punctual-redis': './punctual.mjs',
  'punctual-postgres': './punctual.mjs',
  'punctual-mysql': './punctual.mjs',
  'punctual-file': './punctual.mjs',
  'punctual-memory': './punctual.mjs',
  bullmq: './bullmq.mjs',
  'bee-queue': './bee-queue.mjs',
  beanstalkd: './beanstalkd.mjs',
  'raw-redis': './raw-redis.mjs',
  'raw-redis-lease': './raw-redis.mjs',
  'raw-postgres': './raw-postgres.mjs',
  'raw-postgres-layout': './raw-postgres.mjs',
  'raw-mariadb': './raw-mariadb.mjs',
  'graphile-worker': './graphile-worker.mjs',
  'graphile-worker-fastest': './graphile-worker.mjs',
  'pg-boss': './pg-boss.mjs',
  'timer-floor': './timer-floor.mjs',
}

export const NAMES = Object.keys(FILES)

export async function load(name) {
  const { contestants } = await import(FILES[name])
  return contestants[name]
}
