import { defineCommand } from '../command.ts'
import { CallError, EXIT } from '../../shared/failure.ts'
import { formatDistance } from '../terminal/format.ts'
import { formatMoment } from '../../shared/moment.ts'
import { printable } from '../../shared/printable.ts'
import { LATE_OPTIONS, parseLate, parseWhen, WHEN_OPTIONS } from '../values.ts'

const REFUSAL = {
  running: 'runs right now: too late to move',
  missing: 'there is no such message that waits',
} as const

export const reschedule = defineCommand({
  name: 'reschedule',
  summary: 'move a message that has not started to another moment',
  operands: 'ID',
  arity: [1, 1],
  options: { ...WHEN_OPTIONS, spread: LATE_OPTIONS.spread },
  examples: [
    ['punctual reschedule order-42 --delay 10m', 'ten minutes from now'],
    ['punctual reschedule order-42 --at 2030-01-01T09:00+01:00', 'at a moment'],
    ['punctual reschedule order-42 --delay 0s', 'now'],
  ],
  makesStore: false,
  run: async ({ positionals, values, open, out, err, json, clock }) => {
    const [id = ''] = positionals
    const when = parseWhen(values)
    if (when.at === undefined && when.delay === undefined) throw new CallError('give --delay or --at.')
    const queue = open()
    const result = await queue.reschedule(id, { ...when, ...parseLate(values) })
    const dueAt = result === 'rescheduled' ? (await queue.get(id))?.dueAt : undefined
    if (json) out.json({ id, result, ...(dueAt === undefined ? {} : { dueAt }) })
    else if (result !== 'rescheduled') err.line(`${printable(id)}: ${REFUSAL[result]}`)
    else if (dueAt === undefined) out.line(`${printable(id)}: rescheduled, and started since`)
    else out.line(`${printable(id)}: due ${formatMoment(dueAt)} (${formatDistance(dueAt, clock.now())})`)
    return result === 'rescheduled' ? EXIT.fine : EXIT.failed
  },
})
