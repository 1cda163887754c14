import type { Filter, MessageState, Punctual } from '../../../index.ts'
import { defineCommand, type OptionSpecs, type Values } from '../command.ts'
import { confirm } from '../terminal/confirm.ts'
import { CallError, EXIT } from '../../shared/failure.ts'
import { formatCount, plural } from '../terminal/format.ts'
import { parseState } from '../values.ts'

const OPTIONS = {
  state: { type: 'string', value: 'STATE', help: 'all that are delayed, ready or dead' },
  topic: { type: 'string', value: 'TOPIC', help: 'with --state: only of this topic' },
  yes: { type: 'boolean', short: 'y', help: 'do not ask' },
} as const satisfies OptionSpecs

const PURGEABLE: readonly MessageState[] = ['delayed', 'ready', 'dead']

export const purge = defineCommand({
  name: 'purge',
  summary: 'remove messages for good; asks first',
  operands: '[ID...]',
  arity: [0, Infinity],
  options: OPTIONS,
  examples: [
    ['punctual purge --state dead', 'the dead letters, after a look at "punctual dead"'],
    ['punctual purge --state delayed --topic mail.send --yes', 'all that waits of one topic, without asking'],
    ['punctual purge order-42', 'one message, dead or waiting'],
  ],
  notes: ['What runs right now is left alone.'],
  makesStore: false,
  run: async ({ positionals: ids, values, open, input, out, err, json, queueName, storeName }) => {
    const filter = parseTarget(ids, values)
    const queue = open()
    if (values.yes !== true) {
      const where = `from queue "${queueName}" in ${storeName}`
      const question = `Remove ${await describeTarget(queue, filter)} ${where} for good?`
      if (!(await confirm(question, input))) {
        err.line('nothing was removed')
        return EXIT.failed
      }
    }
    const removed = await queue.purge(filter)
    if (json) out.json({ removed })
    else out.line(`${plural(removed, 'message')} removed`)
    return EXIT.fine
  },
})

function parseTarget(ids: readonly string[], { state, topic }: Values<typeof OPTIONS>): Filter {
  if (ids.length > 0) {
    if (state !== undefined || topic !== undefined) throw new CallError('give ids, or --state; not both.')
    return { ids }
  }
  if (state === undefined) throw new CallError('give ids, or --state.')
  return { state: parseState(state, PURGEABLE), ...(topic === undefined ? {} : { topic }) }
}

/** A topic's messages are counted without telling delayed from ready: then the number is left out. */
async function describeTarget(queue: Punctual, filter: Filter): Promise<string> {
  if ('ids' in filter) return plural(filter.ids.length, 'message')
  const { state, topic } = filter
  const { counts, topics } = await queue.stats({ topics: topic === undefined ? [] : [topic] })
  if (topic === undefined)
    return `${formatCount(counts[state])} ${state} message${counts[state] === 1 ? '' : 's'}`
  const number = state === 'dead' ? `${formatCount(topics[topic]?.dead ?? 0)} ` : 'all '
  return `${number}${state} messages of topic "${topic}"`
}
