/**
 * Where a run spent its time, by folder, by file and by test, and on what:
 *
 *   seconds    of its tests and hooks, by the clock on the wall; imports come on top
 *   own        processor time of the file's own process
 *   children   processor time of the processes that it started, its own servers among them
 *   servers    how many servers it started, and how many seconds it waited for them
 *   processes  how many other processes it started
 *   waiting    the rest of its seconds: real time that passes, answers, and what else the machine had to do
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const LONGEST = join(import.meta.dirname, '../../test/longest.json')
/** What takes less is as good as any other. */
const LONG_S = 5
const FILES = 60
const TESTS = 40
const OF_SERVERS = ['redis-server', 'postgres', 'mariadbd', 'sh', 'pgbouncer', 'initdb', 'mariadb-install-db']

export function printTimes(files) {
  const costs = costsOf(files)
  const folders = new Map()
  for (const cost of costs)
    folders.set(folderOf(cost.name), [...(folders.get(folderOf(cost.name)) ?? []), cost])
  const byFolder = [...folders].map(([name, of]) => sumOf(name, of))
  print([sumOf('everything', costs)])
  print(byFolder.toSorted(slowestFirst))
  print(costs.toSorted(slowestFirst).slice(0, FILES))
  const tests = files.flatMap(({ file, tests: of }) =>
    of.map(({ name, ms }) => ({ ms, name: `${file}: ${name}` })),
  )
  for (const { ms, name } of tests.toSorted((a, b) => b.ms - a.ms).slice(0, TESTS))
    console.log(`${seconds(ms).padStart(7)}  ${name}`)
}

export function costsOf(files) {
  return files.map(costOf)
}

/** For the order of the next runs: `test/longest-first.ts`. */
export function keepLongest(files) {
  const longest = new Map()
  for (const { file, testsMs } of files)
    longest.set(file, Math.max(Math.round(testsMs / 1_000), longest.get(file) ?? 0))
  const kept = [...longest].filter(([, of]) => of >= LONG_S).toSorted((a, b) => b[1] - a[1])
  writeFileSync(LONGEST, `${JSON.stringify(Object.fromEntries(kept), undefined, 2)}\n`)
}

function costOf({ file, project, tests, testsMs, importsMs, costs = {} }) {
  const { cpuMs = 0, childrenMs = 0, servers = 0, serversMs = 0, programs = {} } = costs
  const others = Object.entries(programs).filter(([program]) => !OF_SERVERS.includes(program))
  return {
    name: project === 'alone' ? `${file} (alone)` : file,
    files: 1,
    tests: tests.length,
    testsMs,
    importsMs,
    cpuMs,
    childrenMs,
    servers,
    serversMs,
    processes: others.reduce((sum, [, count]) => sum + count, 0),
    waitingMs: Math.max(0, testsMs - cpuMs - childrenMs - serversMs),
  }
}

function sumOf(name, costs) {
  const sum = { name }
  for (const cost of costs)
    for (const [key, value] of Object.entries(cost)) if (key !== 'name') sum[key] = (sum[key] ?? 0) + value
  return sum
}

/** Two levels, as in test/store/redis; three where a folder of doors is meant. */
function folderOf(name) {
  return name.split('/').slice(0, -1).slice(0, 3).join('/')
}

function slowestFirst(a, b) {
  return b.testsMs + b.importsMs - (a.testsMs + a.importsMs)
}

function print(costs) {
  const head = [
    'seconds',
    'imports',
    'own',
    'children',
    'servers',
    'waited',
    'processes',
    'waiting',
    'files',
    'tests',
  ]
  const rows = costs.map((cost) => [
    ...[cost.testsMs, cost.importsMs, cost.cpuMs, cost.childrenMs].map(seconds),
    String(cost.servers),
    seconds(cost.serversMs),
    String(cost.processes),
    seconds(cost.waitingMs),
    String(cost.files),
    String(cost.tests),
    cost.name,
  ])
  for (const row of [[...head, ''], ...rows])
    console.log(
      row.map((cell, at) => (at < head.length ? cell.padStart(head[at].length + 1) : ` ${cell}`)).join(''),
    )
  console.log('')
}

function seconds(ms) {
  return (ms / 1_000).toFixed(1)
}
