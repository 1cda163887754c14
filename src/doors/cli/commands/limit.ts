import type { FoundLimit, LimitOptions, Rate } from '../../../index.ts'
import { defineCommand, type OptionSpecs } from '../command.ts'
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
  none: { type: 'boolean', help: 'take the limit back' },
} as const satisfies OptionSpecs

export const limit = defineCommand({
  name: 'limit',
  summary: 'say how fast a topic may start and how many may run, over all processes',
  operands: 'TOPIC',
  arity: [1, 1],
  options: OPTIONS,
  examples: [
    ['punctual limit sms.send --rate 100/1m', 'as the provider allows'],
    ['punctual limit report.make --concurrency 2', 'two at a time, however many workers there are'],
    ['punctual limit sms.send --none', 'no limit any more'],
    ['punctual limit sms.send', 'show it'],
  ],
  notes: [
    'A limit replaces the one before as a whole. What runs goes on, also above a lower limit. Each attempt counts as a\nstart, retries too.',
  ],
  makesStore: false,
  run: async ({ positionals, values, open, out, json }) => {
    const [topic = ''] = positionals
    const wanted = parseWanted(values)
    const queue = open()
    if (wanted !== undefined) await queue.limit(topic, wanted)
    const [found] = (await queue.stats({ topics: [topic] })).controls.filter((one) => one.topic === topic)
    if (json) out.json({ topic, limit: found?.limit ?? null })
    else out.line(`${printable(topic)}: ${limitText(found?.limit)}`)
    return EXIT.fine
  },
})

type LimitValues = {
  readonly rate?: string
  readonly burst?: string
  readonly concurrency?: string
  readonly none?: boolean
}

/** Undefined: only show it. */
function parseWanted({
  rate,
  burst,
  concurrency,
  none = false,
}: LimitValues): LimitOptions | null | undefined {
  const isLimit = rate !== undefined || burst !== undefined || concurrency !== undefined
  if (none && isLimit) throw new CallError('--none goes with no other option.')
  if (none) return null
  if (!isLimit) return undefined
  return {
    ...(rate === undefined ? {} : { rate: rate as Rate }),
    ...(burst === undefined ? {} : { burst: parseWholeNumber(burst, '--burst', NUMBER) }),
    ...(concurrency === undefined
      ? {}
      : { concurrency: parseWholeNumber(concurrency, '--concurrency', NUMBER) }),
  }
}

export function limitText(limited: FoundLimit | undefined): string {
  if (limited === undefined) return 'no limit'
  const { rate, burst, concurrency } = limited
  const parts = [
    ...(rate === undefined ? [] : [`${rate}, bursts of at most ${burst ?? 1}`]),
    ...(concurrency === undefined ? [] : [`${concurrency} running at most`]),
  ]
  return parts.join('; ')
}
