import type { Stats } from '../../index.ts'
import { defineCommand, type Call } from '../command.ts'
import { EXIT } from '../failure.ts'
import { formatCount, formatDistance } from '../figures.ts'
import { paintState } from '../message-state.ts'
import { formatMoment } from '../moment.ts'
import { renderTable } from '../table.ts'
import { MESSAGE_STATES } from '../../core/message.ts'

export const stats = defineCommand({
  name: 'stats',
  summary: 'the queue in numbers',
  operands: '',
  arity: [0, 0],
  options: {},
  examples: [
    ['punctual stats', 'once'],
    ['punctual stats --json | jq .counts.dead', 'one number, for an alarm'],
  ],
  makesStore: false,
  run: async (call) => {
    const read = await call.open().stats()
    if (call.json) call.out.json(read)
    else for (const line of renderStats(call, read)) call.out.line(line)
    return EXIT.fine
  },
})

export function renderStats({ out, clock, store, queueName }: Call, read: Stats): string[] {
  const { style } = out
  const options = { width: out.columns, title: style.bold }
  const states = MESSAGE_STATES.map((state) => [paintState(state, style), formatCount(read.counts[state])])
  const topics = Object.entries(read.topics).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return [
    style.dim(`${store}, queue "${queueName}"`),
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
