import { sleep } from '../../../clock.ts'
import { describe } from '../../../core/errors.ts'
import { parseDuration } from '../../../core/input/duration.ts'
import { MESSAGE_STATES } from '../../../core/message.ts'
import { Punctual, type Stats, type TopicCounts } from '../../../index.ts'
import { DEFAULT_QUEUE } from '../../../queue/settings.ts'
import { untilSignalled } from '../../../queue/signals.ts'
import { defineCommand, type Call, type OptionSpecs } from '../command.ts'
import { CallError, EXIT, FailedError } from '../../shared/failure.ts'
import { formatCount, formatDistance, formatSpan, plural } from '../terminal/format.ts'
import { gapLines, sayGap } from '../terminal/gap.ts'
import { paintState } from '../terminal/style.ts'
import { formatMoment } from '../../shared/moment.ts'
import { printable } from '../../shared/printable.ts'
import { Screen } from '../terminal/screen.ts'
import type { Style } from '../terminal/style.ts'
import { renderTable } from '../terminal/table.ts'
import { parseWholeNumber } from '../values.ts'
import { limitText } from './limit.ts'

const EVERY_DEFAULT = '1s'
const TOP_DEFAULT = '20'
const OVERDUE_SHOWN = 5
const CONTROLS_SHOWN = 10
const QUEUES_SHOWN_MAX = 20

const OPTIONS = {
  topic: { type: 'string', multiple: true, value: 'TOPIC', help: 'only this topic; repeatable' },
  top: { type: 'string', value: 'N', help: `how many topics to show; default ${TOP_DEFAULT}, at most 1000` },
  watch: { type: 'boolean', short: 'w', help: 'again and again, in place on a terminal, until Ctrl-C' },
  every: { type: 'string', value: 'DURATION', help: `with --watch: how often; default ${EVERY_DEFAULT}` },
} as const satisfies OptionSpecs

type StatsCall = Call<typeof OPTIONS>

export const stats = defineCommand({
  name: 'stats',
  summary: 'the queue in numbers',
  operands: '',
  arity: [0, 0],
  options: OPTIONS,
  examples: [
    ['punctual stats', 'once'],
    ['punctual stats --watch', 'every second, until Ctrl-C'],
    ['punctual stats --topic mail.send', 'one topic, however many there are'],
    ['punctual stats --json | jq .counts.dead', 'one number, for an alarm'],
  ],
  notes: [
    'Topics with most waiting come first. A topic is overdue when a message of it should have started 10 seconds ago\nor earlier. DONE and FAILED are of the last 4 to 5 minutes, by all workers.',
  ],
  makesStore: false,
  run: async (call) => {
    const { watch = false, every, topic, top = TOP_DEFAULT } = call.values
    if (every !== undefined && !watch) throw new CallError('--every goes with --watch.')
    const view = { ...call, top: parseWholeNumber(top, '--top', { min: 1, max: 1_000 }) }
    await checkQueue(call)
    const queue = call.open()
    const read = (): Promise<Stats> => queue.stats(topic === undefined ? {} : { topics: topic })
    const show = showOn(view, watch)
    if (watch) await watchStats(call, read, show.paint)
    else show.paint(await read())
    show.end()
    return EXIT.fine
  },
})

/** Zeros for a misspelt name would look like good news. A name is only missed where the engine can list them all. */
async function checkQueue({ store, queueName }: StatsCall): Promise<void> {
  if (queueName === DEFAULT_QUEUE) return
  const { names, isComplete } = await Punctual.queues(store)
  if (!isComplete || names.includes(queueName)) return
  const shown = names.slice(0, QUEUES_SHOWN_MAX).map((name) => printable(name))
  const more = names.length > shown.length ? ` and ${names.length - shown.length} more` : ''
  const there = shown.length === 0 ? 'there are none' : `there are: ${shown.join(', ')}${more}`
  throw new FailedError(`there is no queue ${describe(queueName)} in this store; ${there}.`)
}

async function watchStats(
  call: StatsCall,
  read: () => Promise<Stats>,
  paint: (stats: Stats) => void,
): Promise<void> {
  const everyMs = parseDuration(call.values.every ?? EVERY_DEFAULT, '--every', { min: 50, max: 86_400_000 })
  const over = new AbortController()
  const signals = untilSignalled(() => undefined)
  void signals.first.then(() => over.abort())
  call.out.closed.addEventListener('abort', () => over.abort())
  try {
    while (!over.signal.aborted) {
      paint(await read())
      await sleep(call.clock, everyMs, over.signal)
    }
  } finally {
    signals.end()
  }
}

type StatsView = StatsCall & { readonly top: number }

type Painter = { readonly paint: (read: Stats) => void; readonly end: () => void }

/** In place on a terminal that is watched; else one below the other. */
function showOn(view: StatsView, isWatched: boolean): Painter {
  const { out, err, json } = view
  if (isWatched && out.isTerminal && !json) {
    const screen = new Screen(out)
    const lines = (read: Stats): string[] => [
      ...renderStats(view, read),
      ...gapLines(read).map((line) => `${out.style.yellow('!')} ${line}`),
    ]
    return { paint: (read) => screen.paint(lines(read)), end: () => screen.end() }
  }
  const write = (read: Stats): void => (json ? out.json(read) : out.line(renderStats(view, read).join('\n')))
  const paint = (read: Stats): void => {
    sayGap(err, read)
    write(read)
  }
  return { paint, end: () => undefined }
}

function renderStats(view: StatsView, read: Stats): string[] {
  const { out, clock, storeName, queueName } = view
  const { style } = out
  const now = clock.now()
  const options = { width: out.columns, title: style.bold }
  const states = MESSAGE_STATES.map((state) => [paintState(state, style), formatCount(read.counts[state])])
  return [
    style.dim(`${storeName}, queue "${queueName}"`),
    '',
    ...renderTable([{ title: 'STATE' }, { title: 'MESSAGES', align: 'right' }], states, options),
    ...renderTopics(view, read, now),
    '',
    ...renderRecent(read),
    nextDueText(read.nextDueAt, style, now),
    ...renderControls(read, style, now),
    ...renderOverdue(read, style, now),
  ]
}

function right(title: string): { title: string; align: 'right' } {
  return { title, align: 'right' }
}

const NOTHING = { waiting: 0, running: 0, dead: 0 }
const NOTHING_ENDED = { completed: 0, failed: 0 }

/** Those with messages, most waiting first, then those whose messages ended lately. */
function renderTopics({ out, top }: StatsView, { topics, moreTopics, recent }: Stats, now: number): string[] {
  const known = new Map(Object.entries(topics))
  const ended = new Map(Object.entries(recent?.topics ?? {}))
  const waitingOf = (topic: string): number => known.get(topic)?.waiting ?? -1
  const names = [...new Set([...known.keys(), ...ended.keys()])].toSorted(
    (a, b) => waitingOf(b) - waitingOf(a) || (a < b ? -1 : 1),
  )
  if (names.length === 0) return []
  const columns = [
    { title: 'TOPIC' },
    right('WAITING'),
    right('RUNNING'),
    right('DEAD'),
    ...(recent === undefined ? [] : [right('DONE'), right('FAILED')]),
    { title: 'NEXT DUE' },
  ]
  const rows = names.slice(0, top).map((topic) => {
    const { waiting, running, dead, nextDueAt }: TopicCounts = known.get(topic) ?? NOTHING
    const { completed, failed } = ended.get(topic) ?? NOTHING_ENDED
    return [
      printable(topic),
      formatCount(waiting),
      formatCount(running),
      dead === 0 ? '0' : out.style.red(formatCount(dead)),
      ...(recent === undefined ? [] : [formatCount(completed), formatCount(failed)]),
      nextDueAt === undefined ? '' : formatDistance(Math.abs(nextDueAt - now) < 1_000 ? now : nextDueAt, now),
    ]
  })
  return [
    '',
    ...renderTable(columns, rows, { width: out.columns, title: out.style.bold }),
    ...(moreTopics || names.length > top ? [out.style.dim(moreText(names.length - top, moreTopics))] : []),
  ]
}

function moreText(hidden: number, moreTopics: boolean): string {
  const count = moreTopics ? 'there are more topics' : plural(hidden, 'more topic')
  return `${count}; --topic TOPIC shows one, --top N so many`
}

function nextDueText(nextDueAt: number | undefined, style: Style, now: number): string {
  if (nextDueAt === undefined) return style.dim('nothing waits')
  const word = nextDueAt > now ? 'next due' : 'due since'
  return `${word} ${formatMoment(nextDueAt)} (${formatDistance(nextDueAt, now)})`
}

function renderRecent({ recent, latenessMs }: Stats): string[] {
  const lines: string[] = []
  if (recent !== undefined) {
    const { completed, failed, dead, skipped, perMinute } = recent
    const rate =
      perMinute.completed < 10 ? perMinute.completed.toFixed(1) : formatCount(Math.round(perMinute.completed))
    const parts = [`${formatCount(completed)} completed (${rate} a minute)`, `${formatCount(failed)} failed`]
    if (dead > 0) parts.push(`${formatCount(dead)} dead`)
    if (skipped > 0) parts.push(`${formatCount(skipped)} skipped`)
    lines.push(`lately   ${parts.join(', ')}`)
  }
  if (latenessMs !== undefined) {
    const { p50, p99, max } = latenessMs
    lines.push(`late by  p50 ${formatSpan(p50)}, p99 ${formatSpan(p99)}, max ${formatSpan(max)}`)
  }
  return lines
}

function renderControls({ controls }: Stats, style: Style, now: number): string[] {
  const lines = controls.slice(0, CONTROLS_SHOWN).flatMap(({ topic, paused, limit, over }) => {
    const name = topic === undefined ? 'the whole queue' : describe(topic)
    const end = paused?.until === undefined ? '' : ` until ${formatMoment(paused.until)}`
    return [
      ...(paused === undefined ? [] : [`${style.yellow('!')} ${name} is paused${end}`]),
      ...(limit === undefined ? [] : [`limit    ${name}: ${limitText(limit)}`]),
      ...(over === undefined
        ? []
        : [`resumed  ${name}: ${over.rate}, until all may start again ${formatDistance(over.until, now)}`]),
    ]
  })
  const hidden = controls.length - CONTROLS_SHOWN
  return hidden > 0
    ? [...lines, style.dim(`  and ${plural(hidden, 'more topic')} with a pause or a limit`)]
    : lines
}

function renderOverdue({ overdue }: Stats, style: Style, now: number): string[] {
  const lines = overdue.slice(0, OVERDUE_SHOWN).map(({ topic, oldestDueAt, workers }) => {
    const by =
      workers === undefined
        ? ''
        : workers === 0
          ? '; no living worker handles it'
          : `; ${plural(workers, 'living worker')} handle${workers === 1 ? 's' : ''} it`
    return `${style.yellow('!')} ${describe(topic)} is overdue by ${formatSpan(now - oldestDueAt)}${by}`
  })
  const hidden = overdue.length - OVERDUE_SHOWN
  return hidden > 0 ? [...lines, style.dim(`  and ${plural(hidden, 'more topic')}`)] : lines
}
