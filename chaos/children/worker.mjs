// A worker. Each handler writes that it starts before it does anything, and how it ended before it says so to the
// queue; the queue's events are written as they come. What a handler does is in the payload: see `behave`.
import { DeadLetter, Punctual, RetryIn } from '../../dist/index.js'
import { begin } from './life.mjs'

const { options, log, say, count, stopsWhenAsked } = begin()
const { store, queue: name, lease, isMortal, topics } = options
const queue = new Punctual({
  store,
  queue: name,
  logger: false,
  lease,
  fallback: '1s',
  retry: { delays: ['100ms', '300ms', '500ms'], limit: 6 },
  timeout: '20s',
  stopTimeout: options.stopTimeout,
  concurrency: 40,
})

/** Events name the id and the attempt; which message of that id it was is remembered here, for the last few. */
const REMEMBERED_MAX = 5_000
const remembered = new Map()
const HANGS_MS = 60_000

for (const topic of topics) queue.handle(topic, handle, topic === 'slow' ? { concurrency: 10 } : {})
queue.on('completed', (event) => {
  count('completed')
  note('completed', event)
})
queue.on('lost', (event) => note('lost', event, { maybe: event.maybeSettled }))
queue.on('retrying', (event) => note('retrying', event))
queue.on('dead', (event) => note('dead', event, { reason: event.reason }))
queue.on('error', () => count('errors'))

async function handle({ id, topic, attempt, dueAt, payload, signal }) {
  const about = { id, g: payload.g, attempt }
  log.write({ what: 'start', ...about, topic, dueAt })
  count('started')
  remember(about)
  try {
    await behave(payload, attempt, signal, about)
  } catch (error) {
    log.write({ what: 'end', how: howEnded(error), ...about })
    throw error
  }
  log.write({ what: 'end', how: 'done', ...about })
}

async function behave({ does, times, ms }, attempt, signal, about) {
  switch (does) {
    case 'quick':
      break
    case 'outlast': // Longer than a lease: the keeper must extend it.
      await pause(ms, signal)
      break
    case 'work':
    case 'ignore': // Longer than a lease, and deaf to the signal.
      await pause(ms)
      break
    case 'fail':
      if (attempt <= times) throw new Error('as it was told')
      break
    case 'again':
      if (attempt <= times) throw new RetryIn(ms)
      break
    case 'hang':
      await pause(HANGS_MS, signal)
      break
    case 'give up':
      throw new DeadLetter('gave up')
    case 'kill':
      if (!isMortal) throw new Error('would have killed its worker')
      log.write({ what: 'end', how: 'dies', ...about })
      process.kill(process.pid, 'SIGKILL')
      await pause(HANGS_MS)
      break
    default:
      throw new Error(`an unknown handler: ${does}`)
  }
}

function howEnded(error) {
  if (error instanceof DeadLetter) return 'gave up'
  if (error instanceof RetryIn) return 'again'
  return 'threw'
}

function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}

function remember({ id, g, attempt }) {
  const key = `${attempt} ${id}`
  const { untold = [] } = remembered.get(key) ?? {}
  remembered.delete(key)
  remembered.set(key, { untold: [...untold, g], last: g })
  if (remembered.size > REMEMBERED_MAX) remembered.delete(remembered.keys().next().value)
}

/** A successor may start, with the same id and attempt, before the event of the one that it replaces: that comes first. */
function note(what, { id, attempt }, more = {}) {
  const { untold = [], last } = remembered.get(`${attempt} ${id}`) ?? {}
  log.writeSoon({ what, id, attempt, g: untold.shift() ?? last, ...more })
}

const life = stopsWhenAsked(queue)

/** The store may be in trouble just now: a real worker would be restarted until it starts. */
for (;;) {
  try {
    await queue.start()
    break
  } catch (error) {
    if (life.isStopping) break
    log.write({ what: 'not started', code: error.code })
    await pause(200)
  }
}
say({ said: 'ready' })
