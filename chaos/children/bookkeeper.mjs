// Looks at the store from outside, over a line that is never cut: counts, writes down the dead letters and then purges
// them, and at the end lists what is left. Pauses, limits and resumes topics meanwhile, until it is told to lift all of that.
// Never killed.
import { Punctual } from '../../dist/index.js'
import { begin } from './life.mjs'
import { SeededRandom } from '../../dist/testing/index.js'

const BURY_EVERY_MS = 2_000
const PAGE = 500

const { options, log, say, count, on, end } = begin()
const { store, queue: name } = options
const queue = new Punctual({ store, queue: name, logger: false, stopTimeout: options.stopTimeout })
/** Ids that were written down before; a purge whose answer was lost is made again without another line. */
let written = new Set()

const key = ({ id, payload }) => `${id} ${payload.g}`

/** An id that ends so may be produced again at any time, and a purge by id would hit the new message. */
const REPEATABLE = '+'

async function bury(isLast) {
  const dead = []
  let cursor
  do {
    const page = await queue.list({ state: 'dead', limit: PAGE, ...(cursor === undefined ? {} : { cursor }) })
    dead.push(...page.items)
    cursor = page.cursor
  } while (cursor !== undefined)
  const fresh = dead.filter((message) => !written.has(key(message)))
  if (fresh.length > 0) log.write(...fresh.map((message) => ({ what: 'buried', ...about(message) })))
  count('dead', fresh.length)
  written = new Set(dead.map(key))
  const ids = dead.map(({ id }) => id).filter((id) => isLast || !id.endsWith(REPEATABLE))
  for (let from = 0; from < ids.length; from += PAGE) await queue.purge({ ids: ids.slice(from, from + PAGE) })
  return ids.length
}

const about = ({ id, payload, attempt, reason, state }) => ({ id, g: payload?.g, attempt, reason, state })

const STEER_EVERY_MS = 700
const random = new SeededRandom(options.seed)
const paused = new Set()

/** One change of a topic; a pause is written down when the store has it, and before it ends. */
async function steer() {
  const topic = options.topics[Math.floor(random.next() * options.topics.length)]
  const kind = Math.floor(random.next() * (options.hasLimits ? 5 : 3))
  if (kind === 0 && !paused.has(topic)) {
    paused.add(topic)
    await queue.pause(topic)
    log.write({ what: 'paused', topic })
    count('paused')
  } else if (kind <= 2 && paused.has(topic)) {
    log.write({ what: 'resuming', topic })
    paused.delete(topic)
    await queue.resume(topic, random.next() < 0.5 || !options.hasLimits ? {} : { over: '2s' })
  } else if (kind === 3) await queue.limit(topic, { concurrency: 10 + Math.floor(random.next() * 30) })
  else if (kind === 4) await queue.limit(topic, random.next() < 0.5 ? null : { rate: '200/1s', burst: 50 })
}

async function lift() {
  for (const topic of options.topics) {
    log.write({ what: 'resuming', topic })
    await queue.resume(topic)
    if (options.hasLimits) await queue.limit(topic, null)
  }
  paused.clear()
}

let steering = Promise.resolve()
const turns = setInterval(() => {
  steering = steering.then(steer).catch(() => count('errors'))
}, STEER_EVERY_MS)

on('lift', async () => {
  clearInterval(turns)
  await steering
  try {
    await lift()
    say({ said: 'lift' })
  } catch {
    count('errors')
  }
})

/** The store may be in trouble just now; the next round finds the same. */
let burying = Promise.resolve(0)
const rounds = setInterval(() => {
  burying = burying.then(() => bury(false)).catch(() => count('errors'))
}, BURY_EVERY_MS)

on('counts', async () => {
  try {
    say({ said: 'store', counts: (await queue.stats()).counts })
  } catch {
    count('errors')
  }
})

/** While everybody works: a check of the whole store must not mistake that for damage. */
on('doctor', async () => {
  try {
    // What waited for a pause or a limit may be overdue; whether it is worked off, the run sees itself.
    const problems = (await queue.doctor()).filter(
      ({ level, what }) => level === 'problem' && !what.includes(' is overdue: '),
    )
    log.write({ what: 'doctor', problems: problems.map(({ what }) => what) })
    say({ said: 'doctor' })
  } catch {
    count('errors')
  }
})

on('census', async () => {
  clearInterval(rounds)
  await burying
  while ((await bury(true)) > 0);
  let cursor
  do {
    const page = await queue.list({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) })
    if (page.items.length > 0)
      log.write(...page.items.map((message) => ({ what: 'left', ...about(message) })))
    cursor = page.cursor
  } while (cursor !== undefined)
  say({ said: 'census' })
})

on('stop', async () => {
  log.write({ what: 'stopping' })
  const report = await queue.stop()
  log.write({ what: 'stopped', ...report })
  end(0)
})
process.on('SIGINT', () => undefined) // Ctrl-C is for the run, which ends us.
say({ said: 'ready' })
