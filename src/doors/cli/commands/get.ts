import { saidText, windowText } from '../../../core/windows/words.ts'
import { describe } from '../../../core/errors.ts'
import type { FoundMessage, FoundSuccessor, RetryOptions } from '../../../index.ts'
import { defineCommand, type Call } from '../command.ts'
import { EXIT, FailedError } from '../../shared/failure.ts'
import { formatDistance, formatSpan } from '../terminal/format.ts'
import { paintState } from '../terminal/style.ts'
import { formatMoment } from '../../shared/moment.ts'
import { firstLine, printable } from '../../shared/printable.ts'
import { pad } from '../terminal/table.ts'

export const get = defineCommand({
  name: 'get',
  summary: 'show one message',
  operands: 'ID',
  arity: [1, 1],
  options: {},
  examples: [
    ['punctual get order-42', 'all there is to know about it'],
    ['punctual get order-42 --json | jq .payload', 'its payload, for a program'],
  ],
  notes: [
    'A message that was completed, cancelled or purged is gone: the exit code is 1. "punctual why ID" says why one\nhas not started.',
  ],
  makesStore: false,
  run: async (call) => {
    const [id = ''] = call.positionals
    const message = await call.open().get(id)
    if (message === undefined) {
      throw new FailedError(`there is no message ${describe(id)} in queue "${call.queueName}".`)
    }
    if (call.json) call.out.json(message)
    else show(call, message)
    return EXIT.fine
  },
})

const LABEL_WIDTH = 12

function show({ out, clock }: Call, message: FoundMessage): void {
  const now = clock.now()
  const { style } = out
  const moment = (at: number): string => `${formatMoment(at)}  ${style.dim(formatDistance(at, now))}`
  const field = (name: string, value: string | undefined): void => {
    if (value !== undefined) out.line(`${style.dim(pad(name, LABEL_WIDTH, 'left'))}${value}`)
  }
  field('id', message.id)
  field('topic', message.topic)
  field('state', paintState(message.state, style))
  field('produced', message.producedAt === undefined ? undefined : moment(message.producedAt))
  field('key', message.key === undefined ? undefined : printable(message.key))
  field('tags', message.tags?.map(printable).join(', '))
  field('due', moment(message.dueAt))
  // After a retry the moment is a new one; the first one says how late it really is.
  field('first due', message.firstDueAt === message.dueAt ? undefined : moment(message.firstDueAt))
  field('priority', message.priority)
  field('attempt', attemptText(message))
  field('said', message.said === undefined ? undefined : printable(saidText(message.said)))
  field('within', message.within?.map((window) => printable(windowText(window))).join('; '))
  field('moved from', message.movedFrom === undefined ? undefined : moment(message.movedFrom))
  field('ttl', message.ttlMs === undefined ? undefined : formatSpan(message.ttlMs))
  field('timeout', message.timeoutMs === undefined ? undefined : formatSpan(message.timeoutMs))
  field('remember', message.rememberMs === undefined ? undefined : formatSpan(message.rememberMs))
  field('retry', message.retry === undefined ? undefined : retryText(message.retry))
  field('lease', message.leaseEndsAt === undefined ? undefined : `until ${moment(message.leaseEndsAt)}`)
  field('worker', message.owner === undefined ? undefined : printable(message.owner))
  field('since', message.runningSince === undefined ? undefined : moment(message.runningSince))
  field('cancelled', message.isCancelling === true ? 'while it runs: gone when its handler ends' : undefined)
  field('successor', message.successor === undefined ? undefined : successorText(message.successor, moment))
  field('died', message.diedAt === undefined ? undefined : moment(message.diedAt))
  field('reason', message.reason === undefined ? undefined : style.red(printable(message.reason)))
  field('error', message.error === undefined ? undefined : indented(message.error))
  field('outcome', message.outcome)
  field(
    'remembered',
    message.rememberedUntil === undefined ? undefined : `until ${moment(message.rememberedUntil)}`,
  )
  if (message.result !== undefined) field('returned', indented(JSON.stringify(message.result, undefined, 2)))
  field('unreadable', message.unreadable === undefined ? undefined : printable(message.unreadable))
  if (message.payload !== undefined) field('payload', indented(JSON.stringify(message.payload, undefined, 2)))
}

function attemptText({ attempt, lapses }: FoundMessage): string {
  if (lapses === 0) return String(attempt)
  return `${attempt}; the last ${lapses === 1 ? 'one' : lapses} ended without an answer`
}

function retryText({ limit = 0, delays = [], exponential }: RetryOptions): string {
  const often = limit === 1 ? 'once' : `${limit} times`
  if (limit === 0) return 'none'
  if (exponential === undefined)
    return `${often}, after ${delays.map((delay) => formatSpan(Number(delay))).join(', ')}`
  const { base, factor } = exponential
  return `${often}, after ${formatSpan(Number(base))}, then each ${factor} times as long`
}

/** Several lines beside their label. Their indentation stays; what else is in them is not ours, and made harmless. */
function indented(text: string): string {
  const lines = text.split('\n').map((line) => (/^ */.exec(line)?.[0] ?? '') + printable(line))
  return lines.join(`\n${' '.repeat(LABEL_WIDTH)}`)
}

function successorText({ topic, dueAt, payload }: FoundSuccessor, moment: (at: number) => string): string {
  return `${printable(topic)}, due ${moment(dueAt)}, ${firstLine(JSON.stringify(payload) ?? '')}`
}
