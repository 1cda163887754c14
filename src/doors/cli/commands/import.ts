import { describe } from '../../../core/errors.ts'
import { DELAY_MS_MAX, parseDuration } from '../../../core/input/duration.ts'
import { checkZone } from '../../../core/recurrence/cron.ts'
import { insidesOf } from '../../../queue/insides.ts'
import {
  importQueue,
  type ImportParts,
  type ImportReport,
  type LeftOut,
} from '../../../queue/importing/import.ts'
import type { ImportRules } from '../../../queue/importing/message.ts'
import { systemRandom } from '../../../random.ts'
import { engineForUrl, ENGINES, exampleServerUrl } from '../../../store/engines.ts'
import { CallError, EXIT, FailedError, type ExitCode } from '../../shared/failure.ts'
import { printable } from '../../shared/printable.ts'
import { defineCommand, type Call, type OptionSpecs } from '../command.ts'
import { checkStore } from '../store-check.ts'
import { formatCount, plural } from '../terminal/format.ts'
import { Progress } from '../terminal/progress.ts'

const SOURCES = ENGINES.flatMap((engine) => (engine.foreign ?? []).map((source) => ({ engine, source })))
const [first] = SOURCES
/** The option that names the server is called as the engine is that reads it. */
const SERVER_OPTION = first?.engine.name ?? 'server'

const OPTIONS: OptionSpecs = {
  [SERVER_OPTION]: { type: 'string', value: 'URL', help: 'the server that the other queue is in' },
  prefix: {
    type: 'string',
    value: 'TEXT',
    help: 'what the keys of that queue begin with; default: as that package does',
  },
  'to-queue': { type: 'string', value: 'NAME', help: 'the queue that takes them; default: of the same name' },
  topic: { type: 'string', value: 'TOPIC', help: 'one topic for all; default: the name of each job' },
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
    help: 'up to the first number high, up to the second normal; default: none is normal, any is low',
  },
  remember: {
    type: 'string',
    value: 'DURATION',
    help: 'keep ids taken so long after they are done, so that importing again runs none twice; default 7d',
  },
  'dry-run': { type: 'boolean', help: 'only look: what would be imported, and what would not' },
}

type ImportCall = Call
type ImportSource = ImportParts['from']

export const importCommand = defineCommand({
  name: 'import',
  summary: 'bring in the jobs of another package’s queue',
  operands: SOURCES.map(({ source }) => source.name).join(' | '),
  arity: [1, 1],
  options: OPTIONS,
  examples: [
    [
      `punctual import bullmq --${SERVER_OPTION} ${exampleServerUrl()} --queue mail --dry-run`,
      'what there is, and what cannot be carried over',
    ],
    [
      `punctual import bullmq --${SERVER_OPTION} ${exampleServerUrl()} --queue mail`,
      'into the queue "mail" here',
    ],
    [
      `punctual import bullmq --${SERVER_OPTION} ${exampleServerUrl()} --queue mail --zone Europe/Berlin`,
      'its cron expressions name no zone, and its processes ran in this one',
    ],
    [
      `punctual import bee-queue --${SERVER_OPTION} ${exampleServerUrl()} --queue mail --topic mail.send`,
      'jobs without names need a topic',
    ],
  ],
  notes: [
    'Jobs that wait, with or without delay or priority, become messages with their ids, moments, attempts and waits; what failed for good becomes a dead letter; what repeats becomes a schedule. The other queue is read and not changed: pause it or stop its workers first, and remove it when all is well.',
    'Done again, or after it was ended half-way, it brings what is not there yet. What cannot be carried over is named and counted. The exit code is 1 where an id or a name is taken by something else, or where an option would bring what was left.',
  ],
  makesStore: true,
  run: async (call) => {
    const { engine, source } = findSource(call.positionals[0] ?? '')
    const url = readText(call, SERVER_OPTION)
    if (url === undefined)
      throw new CallError(`--${SERVER_OPTION} URL is missing: the server that the other queue is in.`)
    if (!engine.schemes.some((scheme) => url.startsWith(scheme)))
      throw new CallError(`--${SERVER_OPTION} is ${describe(url)}; give a URL like ${engine.example}.`)
    const rules = readRules(call)
    await checkStore(url, { mayMake: false, isPatient: false, option: `--${SERVER_OPTION} URL` })
    const where = { queue: call.queueName, prefix: readText(call, 'prefix') ?? source.prefix }
    const logger = {
      warn: (line: string) => call.err.line(line),
      error: (line: string) => call.err.line(line),
    }
    const from = await source.open(url, where, { clock: call.clock, random: systemRandom, logger })
    try {
      if (!(await from.isThere())) throw await missingQueue(from, { ...where, what: source.name })
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
  // Looking makes no store: where there is none yet, an empty one of this process stands for it.
  const isNew = isDryRun && !(await engineForUrl(call.store).exists(call.store))
  const queue = call.open({
    queue: readText(call, 'to-queue') ?? call.queueName,
    ...(isNew ? { store: 'memory:' } : {}),
  })
  const { open, settings } = insidesOf(queue)
  const report = await importQueue({
    from,
    store: await open(),
    settings,
    setSchedule: (name, spec) => queue.schedules.set(name, spec),
    rules,
    now: call.clock.now(),
    isDryRun,
    onProgress: (count) => progress.update({ done: (done += count) }),
  })
  progress.end()
  return show(call, report, from.isPaused)
}

const NEIGHBOURS_NAMED = 20

/** An empty answer would hide a misspelt name. */
async function missingQueue(
  from: ImportSource,
  { queue, prefix, what }: { readonly queue: string; readonly prefix: string; readonly what: string },
): Promise<FailedError> {
  const names = await from.neighbours()
  const shown = names.slice(0, NEIGHBOURS_NAMED).map(printable).join(', ')
  const more = names.length > NEIGHBOURS_NAMED ? ', and more' : ''
  const found =
    names.length === 0
      ? `no queue lies under this prefix: give --prefix, and look at the server and the database number in --${SERVER_OPTION}`
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
  const range = { min: 0, max: DELAY_MS_MAX }
  const rememberMs = parseDuration(readText(call, 'remember') ?? '7d', '--remember', range)
  const priorities = readText(call, 'priorities')
  const idPrefix = readText(call, 'id-prefix')
  const zone = readText(call, 'zone')
  if (zone !== undefined) checkZone(zone)
  return {
    rememberMs,
    leavesFailed: isGiven(call, 'leave-failed'),
    ...(idPrefix === undefined ? {} : { idPrefix }),
    ...(zone === undefined ? {} : { zone }),
    ...(topic === undefined ? {} : { topic }),
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

/** The exit code is 1 for what should not be left unseen: what is taken by something else, or waits for an option. */
function show(call: ImportCall, report: ImportReport, isPaused: boolean | undefined): ExitCode {
  const { out, err, json } = call
  const isDryRun = isGiven(call, 'dry-run')
  const { imported, dead, present, schedules, presentSchedules, conflicts, scheduleConflicts } = report
  const isWaiting = report.leftOut.some(({ option }) => option !== undefined)
  const exit = conflicts.length + scheduleConflicts.length === 0 && !isWaiting ? EXIT.fine : EXIT.failed
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
  if (isPaused === false)
    err.line(err.style.yellow('the other queue is not paused: its workers may run what was imported, too'))
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
}

function showReasons(out: ImportCall['out'], title: string, reasons: readonly LeftOut[]): void {
  if (reasons.length === 0) return
  out.line(`${title}:`)
  for (const { why, name, count } of reasons)
    out.line(`  ${formatCount(count)} ${name === '' ? '""' : printable(name)}: ${why}`)
}
