import type { FoundWorker } from '../../../index.ts'
import { defineCommand, type Call } from '../command.ts'
import { EXIT } from '../../shared/failure.ts'
import { formatDistance, formatSpan } from '../terminal/format.ts'
import { sayGap } from '../terminal/gap.ts'
import { printable } from '../../shared/printable.ts'
import type { Style } from '../terminal/style.ts'
import { renderTable } from '../terminal/table.ts'

export const workers = defineCommand({
  name: 'workers',
  summary: 'who works on the queue, and on which topics',
  operands: '',
  arity: [0, 0],
  options: {},
  examples: [
    ['punctual workers', 'the living, and those that left or fell silent within the last hour'],
    [`punctual workers --json | jq 'select(.state == "alive") | .owner'`, 'the living, for a program'],
  ],
  notes: [
    'alive: heard of within two minutes, at the time under SEEN (RUNS is what it told then); a process that was killed counts as alive until then. silent: not heard of for two minutes, without a\ngoodbye: it crashed, or is cut off from the store. gone: it was stopped. One without topics is a server, or has no handlers: it fires schedules, and no message waits for it.',
  ],
  makesStore: false,
  run: async (call) => {
    const found = await call.open().workers()
    sayGap(call.err, found)
    const { missing } = found
    const gap = missing === undefined ? {} : { missing }
    if (call.json) for (const worker of found) call.out.json({ ...worker, ...gap })
    else for (const line of render(call, found)) call.out.line(line)
    return EXIT.fine
  },
})

const SECOND_MS = 1_000
const STATES: readonly FoundWorker['state'][] = ['alive', 'silent', 'gone']

function render({ out, clock }: Call, found: readonly FoundWorker[]): string[] {
  const { style } = out
  if (found.length === 0) return [style.dim('no worker was seen within the last hour')]
  const now = clock.now()
  const columns = [
    { title: 'WORKER' },
    { title: 'STATE' },
    { title: 'UP', align: 'right' },
    { title: 'SEEN', align: 'right' },
    { title: 'RUNS', align: 'right' },
    { title: 'VERSION' },
    { title: 'TOPICS' },
  ] as const
  const rows = found
    .toSorted((a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state))
    .map((worker) => [
      workerName(worker),
      paintWorker(worker, style),
      upText(worker, now),
      style.dim(formatDistance(inSeconds(worker.goneAt ?? worker.lastSeenAt, now), now)),
      worker.facts === undefined ? '' : `${worker.facts.running}/${worker.facts.slots}`,
      printable(worker.facts?.version ?? ''),
      topicsText(worker, style),
    ])
  return renderTable(columns, rows, { width: out.isTerminal ? out.columns : Infinity, title: style.bold })
}

function upText({ state, firstSeenAt, lastSeenAt, goneAt }: FoundWorker, now: number): string {
  const until = state === 'alive' ? now : (goneAt ?? lastSeenAt)
  return formatSpan(Math.max(SECOND_MS, until - firstSeenAt))
}

/** What is told may be a minute old, and clocks differ: no more than whole seconds, and never in the future. */
export function inSeconds(at: number, now: number): number {
  return now - Math.max(0, Math.round((now - at) / SECOND_MS)) * SECOND_MS
}

/** The process, as `ps` knows it; what cannot be read is shown as the store has it. */
export function workerName({ owner, facts }: FoundWorker): string {
  return printable(facts === undefined ? owner : `${facts.host}:${facts.pid}`)
}

function paintWorker({ state }: FoundWorker, style: Style): string {
  return { alive: style.green, silent: style.red, gone: style.dim }[state](state)
}

function topicsText({ facts, pausedTopics = [] }: FoundWorker, style: Style): string {
  if (facts === undefined) return ''
  const { topics, topicCount } = facts
  if (topicCount === 0) return style.dim('none: fires schedules only')
  const more = topicCount > topics.length ? ` and ${topicCount - topics.length} more` : ''
  const named = topics.map((topic) =>
    pausedTopics.includes(topic) ? `${printable(topic)} ${style.yellow('(paused)')}` : printable(topic),
  )
  return `${named.join(', ')}${more}`
}
