// The PostgreSQL engine beside its floor and its peers, as ratios in one run on one machine.
//   npm run bench:postgres                          3 repetitions: about half an hour
//   npm run bench:postgres -- --repeat 1 --small    a share that proves the counts in two minutes
import pg from 'pg'
import { parseArgs } from 'node:util'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Punctual } from '../dist/index.js'
import { startChild } from './bench-process.mjs'
import { load } from './contestants/index.mjs'
import { startPostgres, urlFor } from './postgres-server.mjs'
import { figuresOf, median } from './report.mjs'
import { freePort } from './servers.mjs'
import { openStage, pause } from './stage.mjs'
import { SIZES, WORKLOADS, burst } from './workloads.mjs'

const OURS = 'punctual-postgres'
/** What a message with an id, a topic, a priority and a fence cannot do without; and less than that. */
const FLOOR = 'raw-postgres-layout'
const BARE = 'raw-postgres'
const GRAPHILE = 'graphile-worker'
const FASTEST = 'graphile-worker-fastest'
const BOSS = 'pg-boss'
const TWO = `${OURS}, 2 processes`
const UNHEARD = `${OURS}, nobody listens`

const { values } = parseArgs({
  options: {
    repeat: { type: 'string', default: '3' },
    small: { type: 'boolean', default: false },
    json: { type: 'string' },
    only: { type: 'string' },
  },
})
const repeat = Number(values.repeat)
const sizes = values.small ? SIZES.small : SIZES.full
const HELD = values.small ? 2_000 : 40_000
const COMMITS = values.small ? 1_600 : 32_000
const PRODUCERS = 32
const IDLE_MS = values.small ? 10_000 : 60_000
const CYCLES = values.small ? { rounds: 4, size: 1_000 } : { rounds: 20, size: 50_000 }

/** Medians by what was measured and who. */
const measured = new Map()

/** Repetitions of all interleaved: what disturbs the machine disturbs them alike. */
async function measure(what, contenders) {
  if (values.only !== undefined && !values.only.split(',').includes(what)) return
  for (let round = 1; round <= repeat; round += 1) {
    for (const [name, run] of Object.entries(contenders)) {
      process.stderr.write(`${what} ${round}/${repeat} ${name} ... `)
      try {
        const figures = await run()
        const key = `${what} ${name}`
        measured.set(key, [...(measured.get(key) ?? []), figures])
        process.stderr.write(`${figuresOf(figures)}\n`)
      } catch (error) {
        process.stderr.write(`FAILED: ${error.message.split('\n')[0]}\n`)
        process.exitCode = 1
      }
    }
  }
}

const perform = async (workload, name, more = {}) =>
  WORKLOADS[workload].run(await load(name), { ...sizes, ...more })

const compare = (workload, names) =>
  measure(workload, Object.fromEntries(names.map((name) => [name, () => perform(workload, name)])))

/** What the second so many take beside the first, while somebody's transaction is open since before. */
async function drainUnderTransaction() {
  const stage = await openStage(await load(OURS), {})
  const holder = new pg.Client({ connectionString: urlFor(stage.server) })
  await holder.connect()
  try {
    await holder.query('begin isolation level repeatable read')
    await holder.query('select count(*) from pg_class')
    await stage.openWorkers()
    const first = await burst(stage, HELD)
    const second = await burst(stage, HELD)
    return { 'second/first': first['ms to the last'] / second['ms to the last'] }
  } finally {
    await holder.end()
    await stage.close()
  }
}

const sum = (list) => list.reduce((total, rate) => total + rate, 0)

/** A queue that turns over for long: as fast at its end as at its beginning, in bounded space. */
async function turnOver() {
  const stage = await openStage(await load(OURS), {})
  try {
    await stage.openWorkers()
    const rates = []
    for (let round = 0; round < CYCLES.rounds; round += 1)
      rates.push(CYCLES.size / (await burst(stage, CYCLES.size))['ms to the last'])
    const tenth = Math.max(1, Math.round(CYCLES.rounds / 10))
    const bytes = await stage.server.ask("select pg_total_relation_size('punctual.message')")
    return {
      'last/first': sum(rates.slice(-tenth)) / sum(rates.slice(0, tenth)),
      MB: Number(bytes) / 2 ** 20,
    }
  } finally {
    await stage.close()
  }
}

/** A worker with nothing to do: what it sends, counted in the server's own log. */
async function idle() {
  const log = `log-${process.pid}`
  const server = await startPostgres(freePort, [
    'logging_collector = on',
    'log_statement = all',
    "log_line_prefix = '%a '",
    `log_filename = '${log}'`,
  ])
  const context = { port: server.port, queue: 'idle', concurrency: 100, payload: 200, topics: 1 }
  const child = await startChild(OURS, context)
  try {
    await child.ask('openWorker')
    await pause(5_000)
    const count = () =>
      readFileSync(join(server.directory, 'data/log', log), 'utf8').match(
        /^punctual:\S* LOG: {2}(execute|statement)/gm,
      )?.length ?? 0
    const before = count()
    await pause(IDLE_MS)
    return { 'statements/s': ((count() - before) / IDLE_MS) * 1000 }
  } finally {
    await child.stop()
    await server.stop()
  }
}

/**
 * So many connections that each wait for their commit. `moments`: at any time of some hours to come, as delays are; or each
 * before all others, so that every message is the next one due and must ring.
 */
async function commit(listeners, moments) {
  const server = await startPostgres(freePort)
  const context = { port: server.port, queue: 'commits', concurrency: 100, payload: 200, topics: 1 }
  const children = []
  for (let i = 0; i < listeners; i += 1) {
    const child = await startChild(OURS, context)
    await child.ask('openWorker')
    children.push(child)
  }
  const queues = Array.from(
    { length: PRODUCERS },
    () => new Punctual({ store: urlFor(context), queue: context.queue, logger: false }),
  )
  try {
    await Promise.all(queues.map((queue) => queue.stats()))
    const farthest = Date.now() + 10 * 3_600_000
    let n = 0
    const lane = async (queue, until) => {
      while (n < until) {
        n += 1
        const at =
          moments === 'any' ? farthest - ((Math.imul(n, 0x9e3779b1) >>> 0) % 9_000_000) : farthest - n
        await queue.produce('bench-0', 'x'.repeat(200), { at })
      }
    }
    const phase = async (until) => {
      const startedAt = performance.now()
      const from = n
      await Promise.all(queues.map((queue) => lane(queue, until)))
      return ((n - from) / (performance.now() - startedAt)) * 1000
    }
    await phase(COMMITS / 8)
    return { 'commits/s': await phase(COMMITS + COMMITS / 8) }
  } finally {
    await Promise.all(queues.map((queue) => queue.stop()))
    await Promise.all(children.map((child) => child.stop()))
    await server.stop()
  }
}

await compare('W1a', [OURS, FLOOR, BARE, GRAPHILE, BOSS])
await compare('W1b', [OURS, FLOOR, BARE, GRAPHILE, BOSS])
await compare('W2', [OURS, FLOOR, FASTEST])
await compare('W3', [OURS, FLOOR, BARE, FASTEST])
await measure('W4', {
  ...Object.fromEntries(
    [OURS, FLOOR, BARE, FASTEST, GRAPHILE].map((name) => [name, () => perform('W4', name)]),
  ),
  [TWO]: () => perform('W4', OURS, { workers: 2 }),
})
await compare('W5', [OURS, FLOOR, GRAPHILE, BOSS])
await measure('idle', { [OURS]: idle })
await measure('held', { [OURS]: drainUnderTransaction })
await measure('cycles', { [OURS]: turnOver })
await measure('commits', { [OURS]: () => commit(2, 'any'), [UNHEARD]: () => commit(0, 'any') })
await measure('rings', { [OURS]: () => commit(2, 'first'), [UNHEARD]: () => commit(0, 'first') })

const figure = (what, name, key) => {
  const runs = measured.get(`${what} ${name}`)
  return runs === undefined ? undefined : median(runs.map((run) => run[key]))
}
const ratio = (above, below) => (above === undefined || below === undefined ? undefined : above / below)
const over = (what, key, name, other) => ratio(figure(what, name, key), figure(what, other, key))
const best = (...found) => Math.max(...found.filter((value) => value !== undefined))
const RATE = 'messages/s'
const P99 = 'p99 ms'
const LAST = 'ms to the last'
const BYTES = 'bytes/message'

const GOALS = [
  ['W1a schedule, 100 in flight / floor', over('W1a', RATE, OURS, FLOOR), '>=', 0.6],
  [
    'W1a / the faster peer',
    ratio(figure('W1a', OURS, RATE), best(figure('W1a', GRAPHILE, RATE), figure('W1a', BOSS, RATE))),
    '>=',
    20,
  ],
  ['W1b bulk / floor', over('W1b', RATE, OURS, FLOOR), '>=', 0.6],
  ['W1b / graphile-worker', over('W1b', RATE, OURS, GRAPHILE), '>=', 1.8],
  ['W2 p99 / floor', over('W2', P99, OURS, FLOOR), '<=', 2],
  ['W2 p99 / graphile-worker, fastest', over('W2', P99, OURS, FASTEST), '<=', 0.25],
  ['W3 burst: floor / ours', over('W3', LAST, FLOOR, OURS), '>=', 0.6],
  ['W3 burst: graphile-worker, fastest / ours', over('W3', LAST, FASTEST, OURS), '>=', 1],
  ['W4 drain / floor', over('W4', RATE, OURS, FLOOR), '>=', 0.6],
  ['W4 / graphile-worker, fastest', over('W4', RATE, OURS, FASTEST), '>=', 1],
  ['W4 / graphile-worker, default', over('W4', RATE, OURS, GRAPHILE), '>=', 10],
  ['W4 with 2 processes / with 1', over('W4', RATE, TWO, OURS), '>=', 1.2],
  ['W5 sparse p99 / floor', over('W5', P99, OURS, FLOOR), '<=', 2],
  ['idle statements per second and process', figure('idle', OURS, 'statements/s'), '<=', 0.5],
  ['drained under a held transaction, second / first', figure('held', OURS, 'second/first'), '>=', 0.8],
  ['1,000,000 cycles, last tenth / first', figure('cycles', OURS, 'last/first'), '>=', 0.8],
  ['MB of the table and its indexes after that', figure('cycles', OURS, 'MB'), '<=', 150],
  [
    '32 producing connections, with listeners / without',
    over('commits', 'commits/s', OURS, UNHEARD),
    '>=',
    0.7,
  ],
  ['bytes per pending message / graphile-worker', over('W1b', BYTES, OURS, GRAPHILE), '<=', 1.1],
]

/** No goals, but worth knowing. */
const BESIDES = [
  ['W1a / the bare floor', over('W1a', RATE, OURS, BARE)],
  ['W1b / the bare floor', over('W1b', RATE, OURS, BARE)],
  ['W3: the bare floor / ours', over('W3', LAST, BARE, OURS)],
  ['W4 / the bare floor', over('W4', RATE, OURS, BARE)],
  ['32 producing connections, each message the next due', over('rings', 'commits/s', OURS, UNHEARD)],
]

console.log('\n| | ratio | goal | |\n|---|---:|---:|---|')
for (const [what, value, sign, goal] of GOALS) {
  if (value === undefined || !Number.isFinite(value)) continue
  const isMet = sign === '>=' ? value >= goal : value <= goal
  console.log(`| ${what} | ${value.toFixed(2)} | ${sign} ${goal} | ${isMet ? 'met' : 'MISSED'} |`)
}
for (const [what, value] of BESIDES)
  if (value !== undefined) console.log(`| ${what} | ${value.toFixed(2)} | | |`)
if (values.json !== undefined)
  writeFileSync(
    values.json,
    JSON.stringify({ goals: GOALS, measured: Object.fromEntries(measured) }, null, 2),
  )
