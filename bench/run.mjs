// punctual beside its peers and the floor, in one run on one machine.
//   npm run bench                                        everything, 3 repetitions: about an hour
//   npm run bench -- --workloads W2,W4 --contestants punctual-redis,raw-redis --repeat 5
//   npm run bench -- --small --json results.json         a share that proves the counts in seconds
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { NAMES, load } from './contestants/index.mjs'
import { figuresOf, medianRows, table } from './report.mjs'
import { hasPostgres } from './postgres-server.mjs'
import { isThere } from './servers.mjs'
import { SIZES, WORKLOADS } from './workloads.mjs'

const { values } = parseArgs({
  options: {
    workloads: { type: 'string', default: Object.keys(WORKLOADS).join(',') },
    contestants: { type: 'string', default: NAMES.join(',') },
    repeat: { type: 'string', default: '3' },
    small: { type: 'boolean', default: false },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(
    `npm run bench -- [--workloads ${values.workloads}] [--contestants ${values.contestants}] [--repeat N] [--small] [--json FILE]`,
  )
  process.exit(0)
}

const names = pick(values.contestants, NAMES, 'contestant').filter((name) => {
  if (/postgres|graphile|pg-boss/.test(name) && !hasPostgres()) {
    console.error(`(${name} is left out: there is no PostgreSQL on this machine)`)
    return false
  }
  const program = { beanstalkd: 'beanstalkd', 'punctual-mysql': 'mariadbd', 'raw-mariadb': 'mariadbd' }[name]
  if (program === undefined || isThere(program)) return true
  console.error(`(${name} is left out: there is no ${program} on this machine)`)
  return false
})
const workloads = pick(values.workloads, Object.keys(WORKLOADS), 'workload')
const repeat = Number(values.repeat)
const sizes = values.small ? SIZES.small : SIZES.full

function pick(list, known, what) {
  const picked = list.split(',').filter((name) => name !== '')
  for (const name of picked) {
    if (known.includes(name)) continue
    console.error(`no such ${what}: ${name}; there are: ${known.join(', ')}`)
    process.exit(2)
  }
  return picked
}

/** A message to come has no meaning without a store, and a herd needs one that is shared. */
function isApplicable(contestant, workload) {
  if (contestant.name === 'timer-floor') return ['W2', 'W3', 'W5'].includes(workload)
  if (contestant.isInProcess) return !workload.startsWith('W8')
  return true
}

const results = []
for (const workload of workloads) {
  // Repetitions of all contestants interleaved: what disturbs the machine disturbs them alike.
  for (let round = 1; round <= repeat; round += 1) {
    for (const name of names) {
      const contestant = await load(name)
      if (!isApplicable(contestant, workload)) continue
      process.stderr.write(`${workload} ${round}/${repeat} ${name} ... `)
      try {
        const figures = await WORKLOADS[workload].run(contestant, sizes)
        results.push({ workload, name, round, figures })
        process.stderr.write(`${figuresOf(figures)}\n`)
      } catch (error) {
        results.push({ workload, name, round, failure: error.message.split('\n')[0] })
        process.stderr.write(`FAILED: ${error.message.split('\n')[0]}\n`)
      }
    }
  }
}

const [{ model }] = cpus()
const machine = {
  date: new Date().toISOString().slice(0, 10),
  machine: `${cpus().length} x ${model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
  node: process.versions.node,
  redis: isThere('redis-server')
    ? execFileSync('redis-server', ['--version'], { encoding: 'utf8' }).match(/v=(\S+)/)[1]
    : 'none',
  settings:
    'payload about 200 bytes of JSON, no-op handler, concurrency 100, Redis without persistence, file and PostgreSQL with fsync',
  sizes,
  repeat,
}
console.log(
  `\n${machine.date}, ${machine.machine}, Node ${machine.node}, Redis ${machine.redis}; medians of ${repeat}.`,
)
console.log(`${machine.settings}.\n`)
for (const workload of workloads) {
  console.log(`**${workload}** ${WORKLOADS[workload].title}\n`)
  console.log(table(medianRows(results.filter((result) => result.workload === workload))))
}
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ machine, results }, null, 2))
const failed = results.filter(({ failure }) => failure !== undefined)
for (const { workload, name, failure } of failed) console.error(`${workload} ${name}: ${failure}`)
if (!existsSync(new URL('../dist/index.js', import.meta.url)))
  console.error('dist/ is missing: npm run build')
process.exit(failed.length === 0 ? 0 : 1)
