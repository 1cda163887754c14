import { sleep } from '../../../clock.ts'
import { describe } from '../../../core/errors.ts'
import { parseDuration } from '../../../core/input/duration.ts'
import { MESSAGE_STATES } from '../../../core/message.ts'
import { Punctual, type Stats } from '../../../index.ts'
import { DEFAULT_QUEUE } from '../../../queue/settings.ts'
import { untilSignalled } from '../../../queue/signals.ts'
import { defineCommand, type Call, type OptionSpecs } from '../command.ts'
import { CallError, EXIT, FailedError } from '../../shared/failure.ts'
import { formatCount, formatDistance } from '../terminal/figures.ts'
import { paintState } from '../message-state.ts'
import { formatMoment } from '../../shared/moment.ts'
import { printable } from '../../shared/printable.ts'
import { Screen } from '../terminal/screen.ts'
import { renderTable } from '../terminal/table.ts'

const EVERY_DEFAULT = '1s'
const QUEUES_SHOWN_MAX = 20

const OPTIONS = {
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
    ['punctual stats --json | jq .counts.dead', 'one number, for an alarm'],
  ],
  makesStore: false,
  run: async (call) => {
    const { watch = false, every } = call.values
    if (every !== undefined && !watch) throw new CallError('--every goes with --watch.')
    await checkQueue(call)
    const queue = call.open()
    const show = showOn(call, watch)
    if (watch) await watchStats(call, queue, show.paint)
    else show.paint(await queue.stats())
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

async function watchStats(call: StatsCall, queue: Punctual, paint: (read: Stats) => void): Promise<void> {
  const everyMs = parseDuration(call.values.every ?? EVERY_DEFAULT, '--every', { min: 50, max: 86_400_000 })
  const over = new AbortController()
  const signals = untilSignalled(() => undefined)
  void signals.first.then(() => over.abort())
  call.out.closed.addEventListener('abort', () => over.abort())
  try {
    while (!over.signal.aborted) {
      paint(await queue.stats())
      await sleep(call.clock, everyMs, over.signal)
    }
  } finally {
    signals.end()
  }
}

type Painter = { readonly paint: (read: Stats) => void; readonly end: () => void }

/** In place on a terminal that is watched; else one below the other. */
function showOn(call: StatsCall, isWatched: boolean): Painter {
  const { out, json } = call
  if (json) return { paint: (read) => out.json(read), end: () => undefined }
  if (isWatched && out.isTerminal) {
    const screen = new Screen(out)
    return { paint: (read) => screen.paint(renderStats(call, read)), end: () => screen.end() }
  }
  return { paint: (read) => out.line(renderStats(call, read).join('\n')), end: () => undefined }
}

function renderStats({ out, clock, storeName, queueName }: StatsCall, read: Stats): string[] {
  const { style } = out
  const options = { width: out.columns, title: style.bold }
  const states = MESSAGE_STATES.map((state) => [paintState(state, style), formatCount(read.counts[state])])
  const topics = Object.entries(read.topics).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return [
    style.dim(`${storeName}, queue "${queueName}"`),
    '',
    ...renderTable([{ title: 'STATE' }, { title: 'MESSAGES', align: 'right' }], states, options),
    ...(topics.length === 0 ? [] : ['', ...renderTopics(topics, options)]),
    '',
    read.nextDueAt === undefined
      ? style.dim('nothing waits')
      : `next due ${formatMoment(read.nextDueAt)} (${formatDistance(read.nextDueAt, clock.now())})`,
  ]
}

function renderTopics(
  topics: readonly (readonly [string, Stats['topics'][string]])[],
  options: Parameters<typeof renderTable>[2],
): string[] {
  const columns = [
    { title: 'TOPIC' },
    { title: 'WAITING', align: 'right' },
    { title: 'RUNNING', align: 'right' },
    { title: 'DEAD', align: 'right' },
  ] as const
  const rows = topics.map(([topic, { waiting, running, dead }]) => [
    topic,
    formatCount(waiting),
    formatCount(running),
    formatCount(dead),
  ])
  return renderTable(columns, rows, options)
}
