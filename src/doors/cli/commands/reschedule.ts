import type { RescheduleOptions } from '../../../index.ts'
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
import { formatDistance } from '../terminal/format.ts'
import { formatMoment } from '../../shared/moment.ts'
import { printable } from '../../shared/printable.ts'
import { LATE_OPTIONS, parseLate, parseWhen, WHEN_OPTIONS } from '../values.ts'

const REFUSAL = {
  running: 'runs right now: too late to move',
  missing: 'there is no such message that waits',
} as const

const OPTIONS = {
  ...WHEN_OPTIONS,
  spread: LATE_OPTIONS.spread,
  state: { type: 'string', value: 'STATE', help: 'only those that are delayed, or ready' },
  ...WHICH_OPTIONS,
  ...CHANGE_OPTIONS,
} as const satisfies OptionSpecs

type RescheduleCall = Call<typeof OPTIONS>

export const reschedule = defineCommand({
  name: 'reschedule',
  summary: 'move messages that have not started to another moment',
  operands: '[ID]',
  arity: [0, 1],
  options: OPTIONS,
  examples: [
    ['punctual reschedule order-42 --delay 10m', 'ten minutes from now'],
    ['punctual reschedule order-42 --at 2030-01-01T09:00+01:00', 'at a moment'],
    ['punctual reschedule order-42 --delay 0s', 'now'],
    ['punctual reschedule --tag order-42 --at 2030-01-01T09:00Z', 'all that belongs to an order; asks first'],
  ],
  notes: ['With a filter, what runs right now is counted and left alone.'],
  makesStore: false,
  run: async (call) => {
    const [id] = call.positionals
    const filter = parseSelected(call.values, ['delayed', 'ready'])
    checkEither(call.positionals, filter, '--state, --topic, --tag or --key')
    const when = parseWhen(call.values)
    if (when.at === undefined && when.delay === undefined) throw new CallError('give --delay or --at.')
    const move = { ...when, ...parseLate(call.values) }
    return filter === undefined ? moveOne(call, id ?? '', move) : moveSelected(call, filter, move)
  },
})

async function moveOne(call: RescheduleCall, id: string, when: RescheduleOptions): Promise<ExitCode> {
  const { open, out, err, json, clock } = call
  const queue = open()
  const result = await queue.reschedule(id, when)
  const dueAt = result === 'rescheduled' ? (await queue.get(id))?.dueAt : undefined
  if (json) out.json({ id, result, ...(dueAt === undefined ? {} : { dueAt }) })
  else if (result !== 'rescheduled') err.line(`${printable(id)}: ${REFUSAL[result]}`)
  else if (dueAt === undefined) out.line(`${printable(id)}: rescheduled, and started since`)
  else out.line(`${printable(id)}: due ${formatMoment(dueAt)} (${formatDistance(dueAt, clock.now())})`)
  return result === 'rescheduled' ? EXIT.fine : EXIT.failed
}

async function moveSelected(
  call: RescheduleCall,
  filter: Selected,
  when: RescheduleOptions,
): Promise<ExitCode> {
  const { out, err, json } = call
  const queue = call.open()
  const ask = async (where: string): Promise<string> =>
    `Move ${await describeSelected(queue, filter, 'message')} in ${where}?`
  if (!(await isConfirmed(call, ask))) {
    err.line('nothing was moved')
    return EXIT.failed
  }
  const counts = await withProgress(call, (options) => queue.reschedule(filter, when, options))
  const isDryRun = call.values['dry-run'] === true
  if (json) out.json({ ...counts, ...(isDryRun ? { dryRun: true } : {}) })
  else out.line(sayChanged(counts.rescheduled, 'rescheduled', { isDryRun, running: counts.running }))
  return EXIT.fine
}
