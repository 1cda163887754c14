// Looks at the store from outside, over a line that is never cut: counts, writes down the dead letters and then purges
// them, and at the end lists what is left. Never killed.
import { Punctual } from '../../dist/index.js'
import { begin } from './life.mjs'

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
    const problems = (await queue.doctor()).filter(({ level }) => level === 'problem')
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
