import { defineCommand } from '../command.ts'
import { CallError, EXIT } from '../../shared/failure.ts'
import { plural } from '../terminal/format.ts'

export const revive = defineCommand({
  name: 'revive',
  summary: 'give dead letters another life: due now, attempts back to none',
  operands: '[ID...]',
  arity: [0, Infinity],
  options: {
    all: { type: 'boolean', help: 'every dead letter, or every one of --topic' },
    topic: { type: 'string', value: 'TOPIC', help: 'with --all: only of this topic' },
  },
  examples: [
    ['punctual revive order-42 order-43', 'these two'],
    ['punctual revive --all --topic mail.send', 'all of a topic, after its handler was repaired'],
  ],
  notes: ['With ids, the exit code is 1 unless every one of them was dead.'],
  makesStore: false,
  run: async ({ positionals: ids, values: { all = false, topic }, open, out, json }) => {
    if (all === ids.length > 0) throw new CallError('give ids, or --all.')
    if (topic !== undefined && !all) throw new CallError('--topic goes with --all.')
    const queue = open()
    const revived = await queue.revive(
      all ? { state: 'dead', ...(topic === undefined ? {} : { topic }) } : ids,
    )
    if (json) out.json({ revived })
    else out.line(`${plural(revived, 'message')} revived`)
    return all || revived === new Set(ids).size ? EXIT.fine : EXIT.failed
  },
})
