import { hostname } from 'node:os'
import { withoutPasswords } from '../../../core/errors.ts'
import { parseDuration, TIMER_MS_MAX } from '../../../core/input/duration.ts'
import type { Punctual } from '../../../index.ts'
import { insidesOf } from '../../../queue/insides.ts'
import {
  moveQueue,
  surveyMove,
  type MoveProgress,
  type MoveReport,
  type SurveyReport,
} from '../../../queue/moving/move.ts'
import type { Conflict } from '../../../queue/moving/transfer.ts'
import { KINDS, type KindCounts } from '../../../queue/moving/walking.ts'
import { systemRandom } from '../../../random.ts'
import { DEFAULT_STORE, exampleServerUrl } from '../../../store/engines.ts'
import { CallError, EXIT, type ExitCode } from '../../shared/failure.ts'
import { printable } from '../../shared/printable.ts'
import { defineCommand, type Call, type OptionSpecs } from '../command.ts'
import { openUnchanged } from '../dry-run.ts'
import { checkStore } from '../store-check.ts'
import { formatCount, plural } from '../terminal/format.ts'
import { Progress } from '../terminal/progress.ts'
import { renderTable } from '../terminal/table.ts'

const OPTIONS = {
  from: { type: 'string', value: 'URL', help: 'the store that the queue is in' },
  to: { type: 'string', value: 'URL', help: 'the store that it goes to; made if it is not there' },
  'to-queue': { type: 'string', value: 'NAME', help: 'the name that it has there; default: the same' },
  wait: {
    type: 'string',
    value: 'DURATION',
    help: 'how long to wait for messages that run; default 10m',
  },
  'dry-run': { type: 'boolean', help: 'only look: what would be moved, and which ids are taken' },
  anew: { type: 'boolean', help: 'forget an unfinished move of this queue to another store' },
} as const satisfies OptionSpecs

type MoveCall = Call<typeof OPTIONS>

/** So many conflicts are named; the rest is counted. */
const NAMED_MAX = 100

export const move = defineCommand({
  name: 'move',
  summary: 'move a queue to another store, with all that it holds',
  operands: '',
  arity: [0, 0],
  options: OPTIONS,
  examples: [
    [`punctual move --from ${DEFAULT_STORE} --to ${exampleServerUrl()} --dry-run`, 'what there is to move'],
    [
      `punctual move --from ${DEFAULT_STORE} --to ${exampleServerUrl()}`,
      'do it; the same again goes on after a crash',
    ],
    [
      `punctual move --from ${exampleServerUrl()} --to "$DATABASE_URL" --queue mail`,
      'another queue than "default"',
    ],
  ],
  notes: [
    'Messages with their attempts, dead letters, remembered ids, tags, schedules, pauses and limits are moved. Both queues are paused meanwhile; what runs is waited for. A message leaves the source after the target has shown it, whole.',
    'The source stays paused: what old producers still put there waits, and the same command moves it too.',
    'The exit code is 1 if anything is left in the source.',
  ],
  makesStore: true,
  namesStores: true,
  run: async (call) => {
    const { from, to } = await readStores(call)
    const isDryRun = call.values['dry-run'] === true
    const openQueue = async (store: string, queue: string): Promise<Punctual> =>
      isDryRun ? openUnchanged(call, { store, queue }) : call.open({ store, queue })
    const source = await insidesOf(await openQueue(from, call.queueName)).open()
    const queue = call.values['to-queue'] ?? call.queueName
    const target = await insidesOf(await openQueue(to, queue)).open()
    const progress = new Progress(call.err, call.clock)
    const onProgress = tell(call, progress)
    if (isDryRun) {
      const survey = await surveyMove({ source, target, onProgress }).finally(() => progress.end())
      return showSurvey(call, survey)
    }
    const report = await moveQueue({
      source,
      target,
      clock: call.clock,
      random: systemRandom,
      host: hostname(),
      waitMs: parseDuration(call.values.wait ?? '10m', '--wait', { min: 0, max: TIMER_MS_MAX }),
      isAnew: call.values.anew === true,
      onProgress,
    }).finally(() => progress.end())
    return showReport(call, report)
  },
})

async function readStores({ values }: MoveCall): Promise<{ readonly from: string; readonly to: string }> {
  const { from, to } = values
  if (from === undefined) throw new CallError('--from URL is missing: the store that the queue is in.')
  if (to === undefined) throw new CallError('--to URL is missing: the store that it goes to.')
  await checkStore(from, { mayMake: false, isPatient: false, option: '--from URL' })
  await checkStore(to, { mayMake: true, isPatient: false, option: '--to URL' })
  return { from, to }
}

function tell({ err, json }: MoveCall, progress: Progress): (what: MoveProgress) => void {
  let done = 0
  let isWaitTold = false
  return (what) => {
    if (what.step === 'wait') {
      if (!isWaitTold && !json)
        err.line(err.style.dim(`waiting for ${plural(what.running, 'message')} to end`))
      isWaitTold = true
      return
    }
    done += what.count
    progress.update({ done })
  }
}

function showSurvey({ out, json }: MoveCall, survey: SurveyReport): ExitCode {
  const { found, running, conflicts } = survey
  if (json)
    out.json({
      ...survey,
      conflicts: conflicts.slice(0, NAMED_MAX),
      conflictCount: conflicts.length,
      dryRun: true,
    })
  else {
    const waited =
      running === 0
        ? ''
        : `, and ${plural(running, 'message')} that ${running === 1 ? 'runs now, once it has' : 'run now, once they have'} ended`
    out.line(`would move ${kindsText(found)}${waited}`)
    showConflicts(out, conflicts)
  }
  return conflicts.length === 0 ? EXIT.fine : EXIT.failed
}

function showReport(call: MoveCall, report: MoveReport): ExitCode {
  const { out, json, values, queueName } = call
  const { moved, withdrawn, conflicts, left, controls, goesOn, before, after } = report
  const isWhole = conflicts.length === 0 && left === 0
  if (json) {
    const named = conflicts.slice(0, NAMED_MAX)
    out.json({
      moved,
      withdrawn,
      left,
      controls,
      goesOn,
      before,
      after,
      conflicts: named,
      conflictCount: conflicts.length,
    })
    return isWhole ? EXIT.fine : EXIT.failed
  }
  out.line(`moved ${kindsText(moved)}`)
  const rows = (['source', 'target'] as const).flatMap((side) => [
    [`${side} before`, ...STATES.map((state) => formatCount(before[side][state]))],
    [`${side} after`, ...STATES.map((state) => formatCount(after[side][state]))],
  ])
  const columns = [
    { title: '' },
    ...STATES.map((title) => ({ title: title.toUpperCase(), align: 'right' as const })),
  ]
  const width = out.isTerminal ? out.columns : Infinity
  for (const line of renderTable(columns, rows, { width, title: out.style.bold })) out.line(line)
  if (withdrawn > 0)
    out.line(
      `${plural(withdrawn, 'occurrence')} withdrawn: both sides had the schedule, and the one that goes on brings them`,
    )
  if (controls.carried.length > 0) out.line(`pauses and limits carried over: ${topicsText(controls.carried)}`)
  if (controls.kept.length > 0)
    out.line(`pauses and limits that the target had already, and keeps: ${topicsText(controls.kept)}`)
  showConflicts(out, conflicts)
  if (left > 0) out.line(`${plural(left, 'message')} came into the source meanwhile: run the same move again`)
  out.line(out.style.dim(`the source stays paused; to use it again: ${resumeCall(values.from, queueName)}`))
  if (!goesOn)
    out.line(
      `the target stays paused, as it or the source was before: ${resumeCall(values.to, values['to-queue'] ?? queueName)}`,
    )
  return isWhole ? EXIT.fine : EXIT.failed
}

function resumeCall(store: string | undefined, queue: string): string {
  return `punctual resume --store ${printable(withoutPasswords(store ?? ''))} --queue ${printable(queue)}`
}

const NOUNS = {
  schedules: 'schedule',
  waiting: 'message',
  dead: 'dead letter',
  remembered: 'remembered id',
} as const

const STATES = ['delayed', 'ready', 'running', 'dead'] as const

function kindsText(counts: KindCounts): string {
  return KINDS.map((kind) => plural(counts[kind], NOUNS[kind])).join(', ')
}

function topicsText(topics: readonly string[]): string {
  return topics.map((topic) => (topic === '' ? 'the whole queue' : printable(topic))).join(', ')
}

function showConflicts(out: MoveCall['out'], conflicts: readonly Conflict[]): void {
  if (conflicts.length === 0) return
  out.line(`${plural(conflicts.length, 'id')} taken in the target, left in the source:`)
  for (const { id, why } of conflicts.slice(0, NAMED_MAX)) out.line(`  ${printable(id)}: ${why}`)
  const more = conflicts.length - NAMED_MAX
  if (more > 0) out.line(`  and ${formatCount(more)} more`)
  if (conflicts.some(({ kind }) => kind !== 'schedules'))
    out.line(
      '  keep one of each: "punctual purge ID --yes" with the --store of the other side, then the same move again',
    )
}
