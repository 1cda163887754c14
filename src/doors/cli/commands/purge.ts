import type { Filter } from '../../../index.ts'
import { defineCommand, type OptionSpecs } from '../command.ts'
import {
  CHANGE_OPTIONS,
  WHICH_OPTIONS,
  checkEither,
  describeSelected,
  isConfirmed,
  parseSelected,
  sayChanged,
  withProgress,
} from '../filter.ts'
import { EXIT } from '../../shared/failure.ts'
import { plural } from '../terminal/format.ts'

const OPTIONS = {
  state: { type: 'string', value: 'STATE', help: 'all that are delayed, ready or dead' },
  ...WHICH_OPTIONS,
  ...CHANGE_OPTIONS,
} as const satisfies OptionSpecs

export const purge = defineCommand({
  name: 'purge',
  summary: 'remove messages for good; asks first',
  operands: '[ID...]',
  arity: [0, Infinity],
  options: OPTIONS,
  examples: [
    ['punctual purge --state dead --older-than 30d', 'dead letters that were not revived in a month'],
    ['punctual purge --tag person-7 --yes', 'all that belongs to a person, without asking'],
    ['punctual purge --state delayed --topic mail.send --dry-run', 'how many that would be'],
    ['punctual purge order-42', 'one message, dead or waiting'],
  ],
  notes: ['What runs right now is left alone. Ended half-way, the same command goes on.'],
  makesStore: false,
  run: async (call) => {
    const { positionals: ids, values, out, err, json } = call
    const selected = parseSelected(values, ['delayed', 'ready', 'dead'])
    checkEither(ids, selected, '--state, --topic, --tag or --key')
    const filter: Filter = selected ?? { ids }
    const queue = call.open()
    const ask = async (where: string): Promise<string> => {
      const what =
        selected === undefined
          ? plural(ids.length, 'message')
          : await describeSelected(queue, selected, 'message')
      return `Remove ${what} from ${where} for good?`
    }
    if (!(await isConfirmed(call, ask))) {
      err.line('nothing was removed')
      return EXIT.failed
    }
    const removed = await withProgress(call, (options) => queue.purge(filter, options))
    const isDryRun = values['dry-run'] === true
    if (json) out.json({ removed, ...(isDryRun ? { dryRun: true } : {}) })
    else out.line(sayChanged(removed, 'removed', { isDryRun }))
    return EXIT.fine
  },
})
