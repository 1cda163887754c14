import { describe } from '../../../core/errors.ts'
import { DELAY_MS_MAX, parseDuration } from '../../../core/input/duration.ts'
import { zoneOf } from '../../../core/windows/zone.ts'
import type { Punctual } from '../../../index.ts'
import { insidesOf } from '../../../queue/insides.ts'
import {
  importQueue,
  type ImportParts,
  type ImportReport,
  type LeftOut,
} from '../../../queue/importing/import.ts'
import type { ImportRules } from '../../../queue/importing/message.ts'
import { systemRandom } from '../../../random.ts'
import { ENGINES } from '../../../store/engines.ts'
import { CallError, EXIT, FailedError, type ExitCode } from '../../shared/failure.ts'
import { printable } from '../../shared/printable.ts'
import { defineCommand, type Call, type OptionSpecs } from '../command.ts'
import { openUnchanged } from '../dry-run.ts'
import { checkStore } from '../store-check.ts'
import { formatCount, plural } from '../terminal/format.ts'
import { Progress } from '../terminal/progress.ts'

const SOURCES = ENGINES.flatMap((engine) => (engine.foreign ?? []).map((source) => ({ engine, source })))
/** The option that names the server is called as the engine is that reads it. */
const SERVERS = [...new Set(SOURCES.map(({ engine }) => engine))]

const OPTIONS: OptionSpecs = {
  ...Object.fromEntries(
    SERVERS.map(({ name }) => [
      name,
      {
        type: 'string',
        value: 'URL',
        help: `the server that the other queue is in: ${sourcesOf(name)}`,
      } as const,
    ]),
  ),
  prefix: {
    type: 'string',
    value: 'TEXT',
    help: 'what the keys of that queue begin with, or its schema; default: as that package does',
  },
  'to-queue': { type: 'string', value: 'NAME', help: 'the queue that takes them; default: of the same name' },
  topic: { type: 'string', value: 'TOPIC', help: 'one topic for all; default: the name of each job' },
  unnamed: { type: 'string', value: 'TOPIC', help: 'the topic of jobs without a name' },
  'id-prefix': {
    type: 'string',
    value: 'TEXT',
    help: 'in front of every id and of the names of schedules: two queues may use the same ids',
  },
  zone: {
    type: 'string',
    value: 'ZONE',
    help: 'of cron expressions that name none: that of the process that made them, Europe/Berlin',
  },
  'leave-failed': { type: 'boolean', help: 'do not bring failed jobs; default: they become dead letters' },
  priorities: {
    type: 'string',
    value: 'HIGH,NORMAL',
    help: 'up to the first number high, up to the second normal; default: none is normal, any is low. Not for pg-boss: above 0 is high, below it low',
  },
  remember: {
    type: 'string',
    value: 'DURATION',
    help: 'keep ids taken so long after they are done, so that importing again runs none twice; default 7d',
  },
  cancel: {
    type: 'boolean',
    help: 'pg-boss only: cancel there what is stored here, a page at a time, so that it runs once although workers run',
  },
  'dry-run': { type: 'boolean', help: 'only look: what would be imported, and what would not' },
}

type ImportCall = Call
type ImportSource = ImportParts['from']
type OpenTarget = { readonly queue: Punctual; readonly store: ImportParts['store'] }

/** Looking takes nothing. */
function isTaking(call: ImportCall): boolean {
  return isGiven(call, 'cancel') && !isGiven(call, 'dry-run')
}

/** As it is written in an example. */
function serverOf(name: string): string {
  const { engine } = findSource(name)
  return `--${engine.name} ${engine.example}`
}

function sourcesOf(engine: string): string {
  const names = SOURCES.filter((one) => one.engine.name === engine).map(({ source }) => source.name)
  return names.join(', ')
}

export const importCommand = defineCommand({
  name: 'import',
  summary: 'bring in the jobs of another package’s queue',
  operands: SOURCES.map(({ source }) => source.name).join(' | '),
  arity: [1, 1],
  options: OPTIONS,
  examples: [
    [
      `punctual import bullmq ${serverOf('bullmq')} --queue mail --dry-run`,
      'what there is, and what cannot be carried over',
    ],
    [`punctual import bullmq ${serverOf('bullmq')} --queue mail`, 'into the queue "mail" here'],
    [
      `punctual import bullmq ${serverOf('bullmq')} --queue mail --zone Europe/Berlin`,
      'its cron expressions name no zone, and its processes ran in this one',
    ],
    [
      `punctual import bee-queue ${serverOf('bee-queue')} --queue mail --topic mail.send`,
      'jobs without names need a topic',
    ],
    [
      `punctual import pg-boss ${serverOf('pg-boss')} --cancel`,
      'all its queues, each as a topic of that name; what is stored here is cancelled there',
    ],
  ],
  notes: [
    'Jobs that wait, with or without delay or priority, become messages with their ids, moments, attempts and waits; what failed for good becomes a dead letter; what repeats becomes a schedule. Without --cancel the other queue is read and not changed: pause it and stop its workers first, and remove it when all is well.',
    'pg-boss keeps all its queues in one schema, so all of them come, each as a topic of that name, into the queue that --queue names here. Its workers pass over what --cancel has in hand. Failed jobs and schedules are not cancelled there.',
    'Done again, or after it was ended half-way, it brings what is not there yet; also what was cancelled, purged or removed here: cancel it there too. What cannot be carried over is named and counted. The exit code is 1 where an id or a name is taken by something else, where an option would bring what was left, where jobs are active there, where they wait here although they were done there, or where the other queue is not paused.',
  ],
  makesStore: true,
  run: async (call) => {
    const { engine, source } = findSource(call.positionals[0] ?? '')
    const option = engine.name
    const url = readText(call, option)
    if (url === undefined)
      throw new CallError(`--${option} URL is missing: the server that the other queue is in.`)
    if (!engine.schemes.some((scheme) => url.startsWith(scheme)))
      throw new CallError(`--${option} is ${describe(url)}; give a URL like ${engine.example}.`)
    const rules = readRules(call)
    // The other package's tables are there, and ours may not be.
    await checkStore(url, { mayMake: true, isPatient: false, option: `--${option} URL` })
    if (source.hasRanks === true && rules.priorities !== undefined)
      throw new CallError(`--priorities is not for ${source.name}: above 0 is high, 0 normal, below it low.`)
    if (isGiven(call, 'cancel') && source.canTake !== true)
      throw new CallError(`--cancel is not for ${source.name}: pause it, or stop its workers.`)
    const where = {
      queue: call.queueName,
      prefix: readText(call, 'prefix') ?? source.prefix,
      isTaking: isTaking(call),
    }
    const logger = {
      warn: (line: string) => call.err.line(line),
      error: (line: string) => call.err.line(line),
    }
    const from = await source.open(url, where, { clock: call.clock, random: systemRandom, logger })
    try {
      if (!(await from.isThere()))
        throw await missingQueue(from, {
          queue: where.queue,
          prefix: where.prefix,
          what: source.name,
          option,
        })
      return await importFrom(call, from, rules)
    } finally {
      from.close()
    }
  },
})

async function importFrom(call: ImportCall, from: ImportSource, rules: ImportRules): Promise<ExitCode> {
  const isDryRun = isGiven(call, 'dry-run')
  const progress = new Progress(call.err, call.clock)
  let done = 0
  const { queue, store } = await openTarget(call)
  const wasPaused = await from.isPaused()
  const report = await importQueue({
    from,
    store,
    settings: insidesOf(queue).settings,
    setSchedule: (name, spec) => queue.schedules.set(name, spec),
    rules,
    now: call.clock.now(),
    isDryRun,
    isTaking: isTaking(call),
    onProgress: (count) => progress.update({ done: (done += count) }),
  })
  progress.end()
  // Resumed meanwhile is not paused, nor is what somebody paused while it was read.
  return show(call, report, wasPaused === false ? false : await from.isPaused())
}

async function openTarget(call: ImportCall): Promise<OpenTarget> {
  const name = readText(call, 'to-queue') ?? call.queueName
  const queue = isGiven(call, 'dry-run')
    ? await openUnchanged(call, { store: call.store, queue: name })
    : call.open({ queue: name })
  return { queue, store: await insidesOf(queue).open() }
}

const NEIGHBOURS_NAMED = 20

/** An empty answer would hide a misspelt name. */
async function missingQueue(
  from: ImportSource,
  { queue, prefix, what, option }: Readonly<Record<'queue' | 'prefix' | 'what' | 'option', string>>,
): Promise<FailedError> {
  const names = await from.neighbours()
  const shown = names.slice(0, NEIGHBOURS_NAMED).map(printable).join(', ')
  const more = names.length > NEIGHBOURS_NAMED ? ', and more' : ''
  const found =
    names.length === 0
      ? `no queue lies under this prefix: give --prefix, and look at the server and the database number in --${option}`
      : `under this prefix there are: ${shown}${more}. Name one with --queue, or give --prefix`
  return new FailedError(
    `there is no queue ${describe(queue)} of ${what} with the prefix ${describe(prefix)}; ${found}.`,
  )
}

function findSource(name: string): (typeof SOURCES)[number] {
  const found = SOURCES.find(({ source }) => source.name === name)
  if (found !== undefined) return found
  const known = SOURCES.map(({ source }) => source.name).join(' or ')
  throw new CallError(`${describe(name)} is nothing that can be imported from; give ${known}.`)
}

function readText({ values }: ImportCall, name: string): string | undefined {
  const value = values[name]
  return typeof value === 'string' ? value : undefined
}

function isGiven({ values }: ImportCall, name: string): boolean {
  return (values[name] as unknown) === true
}

function readRules(call: ImportCall): ImportRules {
  const topic = readText(call, 'topic')
  const unnamed = readText(call, 'unnamed')
  const range = { min: 0, max: DELAY_MS_MAX }
  const rememberMs = parseDuration(readText(call, 'remember') ?? '7d', '--remember', range)
  const priorities = readText(call, 'priorities')
  const idPrefix = readText(call, 'id-prefix')
  const zone = readText(call, 'zone')
  if (zone !== undefined) zoneOf(zone)
  return {
    rememberMs,
    leavesFailed: isGiven(call, 'leave-failed'),
    ...(idPrefix === undefined ? {} : { idPrefix }),
    ...(zone === undefined ? {} : { zone }),
    ...(topic === undefined ? {} : { topic }),
    ...(unnamed === undefined ? {} : { unnamed }),
    ...(priorities === undefined ? {} : { priorities: parsePriorities(priorities) }),
  }
}

function parsePriorities(text: string): readonly [number, number] {
  const [, high, normal] = /^(\d{1,9}),(\d{1,9})$/.exec(text) ?? []
  if (high !== undefined && normal !== undefined && Number(high) <= Number(normal))
    return [Number(high), Number(normal)]
  throw new CallError(
    `--priorities is ${describe(text)}; give two numbers, the smaller first: --priorities 10,100.`,
  )
}

/** The exit code is 1 for what should not be left unseen: what is taken by something else, waits for an option or a remedy, was done there, or may be missing. */
function show(call: ImportCall, report: ImportReport, isPaused: boolean | undefined): ExitCode {
  const { out, err, json } = call
  const isDryRun = isGiven(call, 'dry-run')
  const { imported, dead, present, schedules, presentSchedules, conflicts, scheduleConflicts } = report
  const isWaiting = report.leftOut.some(({ option, remedy }) => (option ?? remedy) !== undefined)
  const toDecide = [...conflicts, ...scheduleConflicts, ...report.doneThere]
  const isFine = toDecide.length === 0 && !isWaiting && isPaused !== false
  const exit = isFine ? EXIT.fine : EXIT.failed
  if (json) {
    out.json({
      ...report,
      ...(isPaused === undefined ? {} : { isPaused }),
      ...(isDryRun ? { dryRun: true } : {}),
    })
    return exit
  }
  out.line(
    `${isDryRun ? 'would import' : 'imported'} ${plural(imported, 'message')}` +
      `${dead === 0 ? '' : ` (${plural(dead, 'dead letter')})`} and ${plural(schedules, 'schedule')}` +
      `; ${formatCount(present + presentSchedules)} there already`,
  )
  showReasons(out, 'not carried over', report.leftOut)
  showReasons(out, 'carried over without', report.without)
  showTaken(out, conflicts, { one: 'id', by: 'message' })
  showTaken(out, scheduleConflicts, { one: 'name', by: 'schedule' })
  showDone(out, report.doneThere)
  if (isTaking(call) && dead + schedules + presentSchedules > 0)
    err.line('failed jobs and schedules are not cancelled there: stop its cron, or both sides fire')
  if (isPaused === false)
    err.line(
      err.style.yellow(
        'the other queue is not paused: its workers may run what was imported, too, and some may be missing: pause it and import again',
      ),
    )
  return exit
}

const CONFLICTS_NAMED = 20

function showTaken(
  out: ImportCall['out'],
  taken: readonly string[],
  { one, by }: { readonly one: string; readonly by: string },
): void {
  if (taken.length === 0) return
  const named = taken.slice(0, CONFLICTS_NAMED).map(printable).join(', ')
  out.line(`${plural(taken.length, one)} taken by another ${by} here, not imported: ${named}`)
  out.line(
    '  with --id-prefix they get others; what this import has brought without it would then come a second time',
  )
  if (by === 'schedule') out.line('  one that you changed here on purpose: remove it there')
}

function showDone(out: ImportCall['out'], ids: readonly string[]): void {
  if (ids.length === 0) return
  const named = ids.slice(0, CONFLICTS_NAMED).map(printable).join(', ')
  const more = ids.length > CONFLICTS_NAMED ? ', and more' : ''
  const wait = ids.length === 1 ? 'waits' : 'wait'
  out.line(`${plural(ids.length, 'message')} ${wait} here that workers there have done: ${named}${more}`)
  out.line(
    '  an earlier import did not come to cancel them there; "punctual cancel ID..." here, or they run a second time; --json names them all',
  )
}

function showReasons(out: ImportCall['out'], title: string, reasons: readonly LeftOut[]): void {
  if (reasons.length === 0) return
  out.line(`${title}:`)
  for (const { why, name, count, remedy } of reasons)
    out.line(
      `  ${formatCount(count)} ${name === '' ? '""' : printable(name)}: ${why}${remedy === undefined ? '' : `; ${printable(remedy)}`}`,
    )
}
