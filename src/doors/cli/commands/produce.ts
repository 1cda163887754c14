import { fstatSync } from 'node:fs'
import { describe, PunctualError } from '../../../core/errors.ts'
import type { Duration, IfExists, Priority, ProduceOptions, Punctual } from '../../../index.ts'
import { defineCommand, type Call, type Input, type OptionSpecs, type Values } from '../command.ts'
import { CallError, EXIT, FailedError, type ExitCode } from '../../shared/failure.ts'
import { formatDistance, plural } from '../terminal/format.ts'
import { parseWindowText } from '../../shared/local-words.ts'
import { importLines, parseEntry, type LineImport } from '../../shared/line-import.ts'
import { formatMoment } from '../../shared/moment.ts'
import { printable } from '../../shared/printable.ts'
import { Progress } from '../terminal/progress.ts'
import {
  CALENDAR_OPTIONS,
  LATE_OPTIONS,
  parseLate,
  parsePayload,
  parseWhen,
  readCalendars,
  WHEN_OPTIONS,
} from '../values.ts'

const OPTIONS = {
  ...WHEN_OPTIONS,
  id: { type: 'string', value: 'ID', help: 'your own id: the same one again is not stored twice' },
  'if-exists': { type: 'string', value: 'WHAT', help: 'when the id exists: keep (default), replace or fail' },
  latest: {
    type: 'string',
    value: 'DURATION',
    help: 'with --if-exists replace: how long replacing can postpone it',
  },
  key: { type: 'string', value: 'KEY', help: 'whose it is: messages of a topic take turns by key' },
  tag: { type: 'string', multiple: true, value: 'TAG', help: 'what it belongs to; repeatable, at most 4' },
  priority: { type: 'string', value: 'PRIORITY', help: 'high, normal (default) or low' },
  ...LATE_OPTIONS,
  remember: {
    type: 'string',
    value: 'DURATION',
    help: 'keep the id taken, and the result, this long after it is done',
  },
  timeout: { type: 'string', value: 'DURATION', help: 'how long one attempt may take' },
  within: {
    type: 'string',
    multiple: true,
    value: 'WINDOW',
    help: 'it starts only there: 08:00-20:00,mon-fri,except 12-25,Europe/Berlin; repeatable, at most 7',
  },
  ...CALENDAR_OPTIONS,
} as const satisfies OptionSpecs

type ProduceCall = Call<typeof OPTIONS>

const STDIN = '-'

export const produce = defineCommand({
  name: 'produce',
  summary: 'hand over a message and its moment',
  operands: 'TOPIC [JSON | -]',
  arity: [1, 2],
  options: OPTIONS,
  examples: [
    [`punctual produce order.close '{"orderId":42}' --delay 30m --id order-42`, 'close it in half an hour'],
    [`punctual produce mail.send '{"to":"ada"}' --at 2030-01-01T09:00Z`, 'at a moment'],
    [
      `punctual produce mail.send '{"to":"ada"}' --at '09:00 Asia/Tokyo' --within 08:00-20:00,mon-fri,Asia/Tokyo`,
      'at nine where she lives, and never at night',
    ],
    [
      'punctual produce mail.send - --delay 1h < addresses.jsonl',
      'one message per line, each line a payload',
    ],
    [
      'punctual produce - < messages.jsonl',
      'each line a message: {"topic": "a", "payload": 1, "delay": "5m"}',
    ],
  ],
  notes: [
    'A moment without an offset is in the local zone. What was understood is printed with its offset.',
    'From standard input, messages are stored a thousand at a time; the first bad line ends it, and is named.',
  ],
  makesStore: true,
  run: async (call) => {
    const [topic = '', body] = call.positionals
    if (topic === STDIN) return produceEntries(call)
    if (body === STDIN) return producePayloads(call, topic)
    return produceOne(call, topic, parsePayload(body))
  },
})

async function produceOne(call: ProduceCall, topic: string, payload: unknown): Promise<ExitCode> {
  const { out, json, clock } = call
  const queue = call.open(readCalendars(call.values))
  const options = produceOptions(call.values)
  const { id, isKept } = await produceOrKeep(queue, topic, payload, options)
  const stored = await queue.get(id) // By the store's clock; gone already if a worker was quick.
  if (json) {
    const kept = isKept ? { kept: true } : {}
    const about = { id, topic: stored?.topic ?? topic }
    out.json({ ...about, ...kept, ...(stored === undefined ? {} : { dueAt: stored.dueAt }) })
    return EXIT.fine
  }
  const due =
    stored === undefined
      ? 'and done already'
      : `due ${out.style.bold(formatMoment(stored.dueAt))} (${formatDistance(stored.dueAt, clock.now())})`
  // The same id for different things is a mistake that "nothing was stored" alone does not show.
  const of =
    stored === undefined || stored.topic === topic ? '' : ` as a message of ${describe(stored.topic)}`
  const kept = `was there already${of}, and nothing was stored (--if-exists replace puts this one in its place)`
  out.line(`${printable(id)}: ${isKept ? `${kept}${isEnded(stored) ? '' : `, ${due}`}` : due}`)
  return EXIT.fine
}

/** As `keep` does, which does not say whether it stored anything. */
async function produceOrKeep(
  queue: Punctual,
  topic: string,
  payload: unknown,
  { id, ifExists = 'keep', ...options }: ProduceOptions,
): Promise<{ id: string; isKept: boolean }> {
  if (id === undefined || ifExists !== 'keep') {
    const given = { ...options, ...(id === undefined ? {} : { id }), ifExists }
    return { id: await queue.produce(topic, payload, given).catch(refuseTaken), isKept: false }
  }
  try {
    return { id: await queue.produce(topic, payload, { ...options, id, ifExists: 'fail' }), isKept: false }
  } catch (error) {
    if (!isTaken(error)) throw error
    return { id, isKept: true }
  }
}

function isTaken(error: unknown): error is PunctualError {
  return error instanceof PunctualError && error.code === 'ID_EXISTS'
}

/** In the words of the command line. */
function refuseTaken(error: unknown): never {
  if (!isTaken(error)) throw error
  const id = describe(error.value)
  throw new FailedError(
    `a message with id ${id} exists, and nothing was stored; give another --id, or --if-exists keep or replace.`,
    { cause: error },
  )
}

/** What is over has no moment to wait for. */
function isEnded(found: Awaited<ReturnType<Punctual['get']>>): boolean {
  return found === undefined || found.state === 'completed' || found.state === 'dead'
}

async function producePayloads(call: ProduceCall, topic: string): Promise<ExitCode> {
  if (call.values.id !== undefined) throw new CallError('--id names one message; lines are many.')
  const options = produceOptions(call.values)
  return storeLines(call, ({ value }) => ({ ...options, topic, payload: value }))
}

async function produceEntries(call: ProduceCall): Promise<ExitCode> {
  if (call.positionals.length > 1)
    throw new CallError(`${describe(call.positionals[1])} after "-": topics stand in the lines.`)
  const [given] = Object.keys(OPTIONS).filter(
    (name) => name !== 'calendars' && Object.hasOwn(call.values, name),
  )
  if (given !== undefined) throw new CallError(`--${given} cannot be given here: it stands in the lines.`)
  return storeLines(call, parseEntry)
}

async function storeLines(call: ProduceCall, toEntry: LineImport['toEntry']): Promise<ExitCode> {
  const { input, out, err, json, clock } = call
  const bytesTotal = bytesOf(input)
  const progress = new Progress(err, clock)
  const stored = await importLines({
    input,
    queue: call.open(readCalendars(call.values)),
    toEntry,
    onStored: ({ stored: done, bytesRead }) =>
      progress.update({
        done,
        ...(bytesTotal === undefined ? {} : { share: Math.min(1, bytesRead / bytesTotal) }),
      }),
  }).finally(() => progress.end())
  if (json) out.json({ stored })
  else out.line(`${plural(stored, 'message')} stored`)
  return EXIT.fine
}

/** Texts that the library refuses are named by it. */
function produceOptions(values: Values<typeof OPTIONS>): ProduceOptions {
  const { id, latest, tag, key, priority, remember, timeout, within, 'if-exists': ifExists } = values
  return {
    ...parseWhen(values),
    ...(id === undefined ? {} : { id }),
    ...(ifExists === undefined ? {} : { ifExists: ifExists as IfExists }),
    ...(latest === undefined ? {} : { latest: latest as Duration }),
    ...(tag === undefined ? {} : { tag }),
    ...(key === undefined ? {} : { key }),
    ...(priority === undefined ? {} : { priority: priority as Priority }),
    ...parseLate(values),
    ...(remember === undefined ? {} : { remember: remember as Duration }),
    ...(timeout === undefined ? {} : { timeout: timeout as Duration }),
    ...(within === undefined ? {} : { within: within.map((text) => parseWindowText(text, '--within')) }),
  }
}

/**
 * Undefined for a pipe, whose end is not known. Node makes an empty input of what it cannot read: a directory must not
 * pass for that.
 */
function bytesOf(input: Input): number | undefined {
  if (input !== process.stdin) return undefined
  const stat = fstatSync(0)
  if (stat.isDirectory()) throw new FailedError('standard input cannot be read: it is a directory.')
  return stat.isFile() && stat.size > 0 ? stat.size : undefined
}
