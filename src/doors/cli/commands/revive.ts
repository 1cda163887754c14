import { defineCommand, type OptionSpecs } from '../command.ts'
import { CHANGE_OPTIONS, WHICH_OPTIONS, parseSelected, sayChanged, withProgress } from '../filter.ts'
import { CallError, EXIT } from '../../shared/failure.ts'
import { printable } from '../../shared/printable.ts'

const { limit, 'dry-run': dryRun } = CHANGE_OPTIONS

const OPTIONS = {
  all: { type: 'boolean', help: 'every dead letter, or every one that fits' },
  state: { type: 'string', value: 'dead', help: 'the same: only dead letters can be revived' },
  ...WHICH_OPTIONS,
  limit,
  'dry-run': dryRun,
} as const satisfies OptionSpecs

export const revive = defineCommand({
  name: 'revive',
  summary: 'start dead letters again: due now, attempts back to none',
  operands: '[ID...]',
  arity: [0, Infinity],
  options: OPTIONS,
  examples: [
    ['punctual revive order-42 order-43', 'these two'],
    ['punctual revive --all --topic mail.send', 'all of a topic, after its handler was repaired'],
    ['punctual revive --tag order-42', 'all of an order'],
  ],
  notes: ['With ids, the exit code is 1 unless every one of them was dead.'],
  makesStore: false,
  run: async (call) => {
    const { positionals: ids, values, out, json } = call
    const isAll = values.all === true
    const selected = parseSelected({ ...values, ...(isAll ? { state: 'dead' } : {}) }, ['dead'])
    if (selected === undefined && ids.length === 0)
      throw new CallError(
        'give ids, or --all, --topic, --tag or --key; "punctual dead" lists the dead letters.',
      )
    if (selected !== undefined && ids.length > 0)
      throw new CallError('give ids, or --all, --topic, --tag or --key; not both.')
    const queue = call.open()
    const revived = await withProgress(call, (options) => queue.revive(selected ?? { ids }, options))
    const isDryRun = values['dry-run'] === true
    if (json) out.json({ revived, ...(isDryRun ? { dryRun: true } : {}) })
    else out.line(sayChanged(revived, 'revived', { isDryRun }))
    const missing = selected === undefined ? new Set(ids).size - revived : 0
    if (missing > 0 && !json) call.err.line(sayMissing(ids, missing))
    return missing === 0 ? EXIT.fine : EXIT.failed
  },
})

function sayMissing([first = '', ...others]: readonly string[], missing: number): string {
  if (others.length === 0)
    return `${printable(first)}: no such dead letter; "punctual why ID" says what became of it`
  return `${missing} of them ${missing === 1 ? 'is no dead letter' : 'are no dead letters'}; "punctual why ID" says what became of one`
}
