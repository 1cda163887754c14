// How cost grows: with the backlog, the payload, the topics and the processes, one at a time.
//   npm run bench:growth -- [--axes backlog,payload,topics,processes] [--contestants punctual-redis,punctual-file] [--small]
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { load } from './contestants/index.mjs'
import { figuresOf, medianRows, table } from './report.mjs'
import { WORKLOADS } from './workloads.mjs'

const SIZES = { w1: 20_000, w2: 10_000, w2OverMs: 5_000, w3: 20_000, w4: 20_000 }
const SMALL = { w1: 500, w2: 200, w2OverMs: 1_000, w3: 200, w4: 500 }

/** What grows, in which steps, and which workloads can show it. */
const AXES = {
  backlog: { steps: [0, 10_000, 100_000, 1_000_000], workloads: ['W1b', 'W2', 'W4'] },
  payload: { steps: [50, 200, 2_000, 20_000], workloads: ['W1b', 'W2', 'W4'] },
  topics: { steps: [1, 10, 100, 1_000], workloads: ['W1b', 'W2', 'W4'] },
  processes: { steps: [1, 2, 4, 8, 16], workloads: ['W2', 'W3', 'W4'] },
}
const OPTION_OF = { backlog: 'backlog', payload: 'payload', topics: 'topics', processes: 'workers' }

const { values } = parseArgs({
  options: {
    axes: { type: 'string', default: Object.keys(AXES).join(',') },
    contestants: { type: 'string', default: 'punctual-redis,punctual-file' },
    small: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
})
const sizes = values.small ? SMALL : SIZES
const results = []

for (const axis of values.axes.split(',')) {
  if (AXES[axis] === undefined) {
    console.error(`no such axis: ${axis}; there are: ${Object.keys(AXES).join(', ')}`)
    process.exit(2)
  }
  const { workloads } = AXES[axis]
  const steps = values.small ? AXES[axis].steps.slice(0, 2) : AXES[axis].steps
  for (const name of values.contestants.split(',')) {
    const contestant = await load(name)
    for (const step of steps) {
      const figures = {}
      for (const workload of workloads) {
        process.stderr.write(`${axis} ${step} ${name} ${workload} ... `)
        const found = await WORKLOADS[workload].run(contestant, { ...sizes, [OPTION_OF[axis]]: step })
        process.stderr.write(`${figuresOf(found)}\n`)
        for (const [figure, value] of Object.entries(shown(workload, found))) figures[figure] = value
      }
      results.push({ workload: axis, name: `${name}, ${step.toLocaleString('en')}`, round: 1, figures })
    }
  }
}

/** Of each workload, the figures that tell the story. */
function shown(workload, figures) {
  if (workload === 'W2') return { 'p50 ms': figures['p50 ms'], 'p99 ms': figures['p99 ms'] }
  if (workload === 'W3') return { 'burst, ms': figures['ms to the last'] }
  if (workload === 'W4') return { 'drained/s': figures['messages/s'] }
  const bytes = figures['bytes/message']
  return { 'placed/s': figures['messages/s'], ...(bytes === undefined ? {} : { 'bytes/message': bytes }) }
}

for (const axis of values.axes.split(',')) {
  console.log(`\n**${axis}**\n`)
  console.log(table(medianRows(results.filter((result) => result.workload === axis))))
}
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ sizes, results }, null, 2))
