import { checkId } from '../../../core/input/names.ts'
import type { CancelResult, Punctual } from '../../../index.ts'
import { defineCommand, type Call, type OptionSpecs } from '../command.ts'
import {
  CHANGE_OPTIONS,
  WHICH_OPTIONS,
  checkEither,
  describeSelected,
  isConfirmed,
  parseSelected,
  sayChanged,
  withProgress,
  type Selected,
} from '../filter.ts'
import { CallError, EXIT, type ExitCode } from '../../shared/failure.ts'
import { printable } from '../../shared/printable.ts'

const MEANING = {
  cancelled: 'cancelled',
  running: 'runs right now: too late to cancel, unless with --running',
  cancelling: 'runs right now: its handler was told to end',
  missing: 'there is no such message',
} as const

const OPTIONS = {
  running: { type: 'boolean', help: 'with ids: also one that runs; its handler is told to end' },
  state: { type: 'string', value: 'STATE', help: 'only those that are delayed, or ready' },
  ...WHICH_OPTIONS,
  ...CHANGE_OPTIONS,
} as const satisfies OptionSpecs

type CancelCall = Call<typeof OPTIONS>

export const cancel = defineCommand({
  name: 'cancel',
  summary: 'take messages back before they start',
  operands: '[ID...]',
  arity: [0, Infinity],
  options: OPTIONS,
  examples: [
    ['punctual cancel order-42', 'it was paid: do not close it'],
    ['punctual cancel order-42 --running', 'even if a handler has it: its signal aborts'],
    ['punctual cancel --tag customer-7', 'everything of one customer that has not started; asks first'],
    ['punctual cancel --topic mail.send --dry-run', 'how many that would be'],
  ],
  notes: [
    'With ids, the exit code is 1 unless every one of them was cancelled, or is being cancelled. Dead letters are removed by "purge".',
    'With a filter, what runs right now is counted and left alone. Ended half-way, the same command goes on.',
  ],
  makesStore: false,
  run: async (call) => {
    const filter = parseSelected(call.values, ['delayed', 'ready'])
    checkEither(call.positionals, filter, '--state, --topic, --tag or --key')
    if (filter !== undefined && call.values.running === true) throw new CallError('--running goes with ids.')
    return filter === undefined ? cancelIds(call) : cancelSelected(call, filter)
  },
})

async function cancelIds({ positionals, values, open, out, err, json }: CancelCall): Promise<ExitCode> {
  const ids = positionals.map(checkId) // All of them before the first is cancelled.
  const queue = open()
  const results = await Promise.all(ids.map((id) => queue.cancel(id, { running: values.running === true })))
  for (const [i, result] of results.entries()) {
    const id = ids[i] ?? ''
    if (json) out.json({ id, result })
    else if (isTaken(result)) out.line(`${printable(id)}: ${MEANING[result]}`)
    else err.line(`${printable(id)}: ${await whyNot(queue, id, result)}`)
  }
  return results.every(isTaken) ? EXIT.fine : EXIT.failed
}

/** `missing` means that nothing waits under this id; what ended may still be there. */
async function whyNot(queue: Punctual, id: string, result: CancelResult): Promise<string> {
  const state = result === 'missing' ? (await queue.get(id))?.state : undefined
  if (state === 'dead') return 'is a dead letter: "purge" removes it, "revive" starts it again'
  if (state === 'completed') return 'is done; its id is remembered'
  return MEANING[result]
}

function isTaken(result: CancelResult): boolean {
  return result === 'cancelled' || result === 'cancelling'
}

async function cancelSelected(call: CancelCall, filter: Selected): Promise<ExitCode> {
  const { out, err, json } = call
  const queue = call.open()
  const ask = async (where: string): Promise<string> =>
    `Cancel ${await describeSelected(queue, filter, 'message')} in ${where}?`
  if (!(await isConfirmed(call, ask))) {
    err.line('nothing was cancelled')
    return EXIT.failed
  }
  const counts = await withProgress(call, (options) => queue.cancel(filter, options))
  const isDryRun = call.values['dry-run'] === true
  if (json) out.json({ ...counts, ...(isDryRun ? { dryRun: true } : {}) })
  else out.line(sayChanged(counts.cancelled, 'cancelled', { isDryRun, running: counts.running }))
  return EXIT.fine
}
