import { checkId } from '../../../core/message.ts'
import { defineCommand } from '../command.ts'
import { EXIT } from '../../shared/failure.ts'
import { printable } from '../../shared/printable.ts'

const MEANING = {
  cancelled: 'cancelled',
  running: 'runs right now: too late to cancel',
  missing: 'there is no such message',
} as const

export const cancel = defineCommand({
  name: 'cancel',
  summary: 'take messages back before they start',
  operands: 'ID...',
  arity: [1, Infinity],
  options: {},
  examples: [['punctual cancel order-42', 'it was paid: do not close it']],
  notes: ['The exit code is 1 unless every one of them was cancelled. Dead letters are removed by "purge".'],
  makesStore: false,
  run: async ({ positionals, open, out, err, json }) => {
    const ids = positionals.map(checkId) // All of them before the first is cancelled.
    const queue = open()
    const results = await Promise.all(ids.map((id) => queue.cancel(id)))
    for (const [i, result] of results.entries()) {
      const id = ids[i] ?? ''
      if (json) out.json({ id, result })
      else (result === 'cancelled' ? out : err).line(`${printable(id)}: ${MEANING[result]}`)
    }
    return results.every((result) => result === 'cancelled') ? EXIT.fine : EXIT.failed
  },
})
