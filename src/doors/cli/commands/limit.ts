import type {
  FoundAllowance,
  FoundKey,
  FoundLimit,
  KeyAllowance,
  KeyLimitOptions,
  LimitOptions,
  Punctual,
  Rate,
} from '../../../index.ts'
import { defineCommand, type OptionSpecs, type Values } from '../command.ts'
import { CallError, EXIT } from '../../shared/failure.ts'
import { printable } from '../../shared/printable.ts'
import { parseWholeNumber } from '../values.ts'

const NUMBER = { min: 1, max: 1_000_000 }

const OPTIONS = {
  rate: { type: 'string', value: 'N/TIME', help: 'how many may start in how much time: 100/1m, 5/1s' },
  burst: {
    type: 'string',
    value: 'N',
    help: 'with --rate: how many may start at once; default: what the rate allows in 100 ms',
  },
  concurrency: { type: 'string', value: 'N', help: 'how many may run at once' },
  'per-key-rate': { type: 'string', value: 'N/TIME', help: 'the same for each key of the topic' },
  'per-key-burst': { type: 'string', value: 'N', help: 'with --per-key-rate' },
  'per-key-concurrency': {
    type: 'string',
    value: 'N',
    help: 'how many of each key may run at once; 1: in order',
  },
  key: { type: 'string', value: 'KEY', help: 'the limit of this key alone, in place of that of each key' },
  weight: {
    type: 'string',
    value: 'N',
    help: 'with --key: how many of its messages go for one of each other key',
  },
  none: { type: 'boolean', help: 'take the limit back' },
} as const satisfies OptionSpecs

type LimitValues = Values<typeof OPTIONS>

export const limit = defineCommand({
  name: 'limit',
  summary: 'say how fast a topic may start and how many may run, over all processes',
  operands: 'TOPIC',
  arity: [1, 1],
  options: OPTIONS,
  examples: [
    ['punctual limit sms.send --rate 100/1m', 'as the provider allows'],
    ['punctual limit report.make --concurrency 2', 'two at a time, however many workers there are'],
    ['punctual limit mail.send --per-key-concurrency 1', 'one at a time for each key, in order'],
    ['punctual limit mail.send --key customer-7 --weight 3', 'three for one of each other key'],
    ['punctual limit sms.send --none', 'no limit any more'],
    ['punctual limit sms.send', 'show it'],
  ],
  notes: [
    'A limit replaces the one before as a whole. What runs goes on, also above a lower limit. Each attempt counts as a\nstart, retries too.',
  ],
  makesStore: false,
  run: async ({ positionals, values, open, out, json }) => {
    const [topic = ''] = positionals
    const shown = values.key === undefined ? limitOfTopic(values) : limitOfKey(values, values.key)
    const found = await shown(open(), topic)
    if (json)
      out.json({ topic, ...(values.key === undefined ? {} : { key: values.key }), limit: found ?? null })
    else
      out.line(
        `${printable(topic)}${values.key === undefined ? '' : `, key ${printable(values.key)}`}: ${limitText(found)}`,
      )
    return EXIT.fine
  },
})

/** Changes it if the call says so; answers the one that holds then. */
type LimitCall = (queue: Punctual, topic: string) => Promise<FoundLimit | FoundKey['limit']>

function limitOfTopic(values: LimitValues): LimitCall {
  if (values.weight !== undefined) throw new CallError('--weight goes with --key.')
  const perKey = parseAllowance(values, 'per-key-')
  const own = parseAllowance(values, '')
  const wanted: LimitOptions | undefined = perKey === undefined ? own : { ...own, perKey }
  const change = parseNone(values, wanted)
  return async (queue, topic) => {
    if (change !== undefined) await queue.limit(topic, change)
    const { controls } = await queue.stats({ topics: [topic] })
    return controls.find((one) => one.topic === topic)?.limit
  }
}

function limitOfKey(values: LimitValues, key: string): LimitCall {
  if (parseAllowance(values, 'per-key-') !== undefined)
    throw new CallError(
      '--per-key-... is for a whole topic; with --key give --rate, --concurrency or --weight.',
    )
  const own = parseAllowance(values, '')
  const weight =
    values.weight === undefined ? {} : { weight: parseWholeNumber(values.weight, '--weight', NUMBER) }
  const wanted: KeyLimitOptions = { ...own, ...weight }
  const change = parseNone(values, Object.keys(wanted).length === 0 ? undefined : wanted)
  return async (queue, topic) => {
    if (change !== undefined) await queue.limit(topic, change, { key })
    return (await queue.keys(topic, { keys: [key] })).keys[0]?.limit
  }
}

/** null: take it back; undefined: only show it. */
function parseNone<T>({ none = false }: LimitValues, wanted: T | undefined): T | null | undefined {
  if (none && wanted !== undefined) throw new CallError('--none goes with no other option.')
  return none ? null : wanted
}

function parseAllowance(values: LimitValues, prefix: '' | 'per-key-'): KeyAllowance | undefined {
  const { [`${prefix}rate` as const]: rate, [`${prefix}burst` as const]: burst } = values
  const concurrency = values[`${prefix}concurrency` as const]
  if (rate === undefined && burst === undefined && concurrency === undefined) return undefined
  return {
    ...(rate === undefined ? {} : { rate: rate as Rate }),
    ...(burst === undefined ? {} : { burst: parseWholeNumber(burst, `--${prefix}burst`, NUMBER) }),
    ...(concurrency === undefined
      ? {}
      : { concurrency: parseWholeNumber(concurrency, `--${prefix}concurrency`, NUMBER) }),
  }
}

export function limitText(limited: FoundLimit | FoundKey['limit']): string {
  if (limited === undefined) return 'no limit'
  const perKey = 'perKey' in limited ? limited.perKey : undefined
  const weight = 'weight' in limited ? limited.weight : undefined
  return [
    ...allowanceParts(limited),
    ...(perKey === undefined ? [] : [`of each key: ${allowanceParts(perKey).join(', ')}`]),
    ...(weight === undefined ? [] : [`weight ${weight}`]),
  ].join('; ')
}

function allowanceParts({ rate, burst, concurrency }: FoundAllowance): string[] {
  return [
    ...(rate === undefined ? [] : [`${rate}, bursts of at most ${burst ?? 1}`]),
    ...(concurrency === undefined ? [] : [`${concurrency} running at most`]),
  ]
}
