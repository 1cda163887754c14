/** The words of a command line, parsed by the specs of its command; the first wrong one is named. */
import { parseArgs } from 'node:util'
import { describe } from '../../core/errors.ts'
import { DEFAULT_STORE, ENGINES } from '../../store/engines.ts'
import type { Command, OptionSpec, OptionSpecs, Values } from './command.ts'
import { CallError } from '../shared/failure.ts'

const STORE_URLS = ENGINES.flatMap(({ reach, urls }) => (reach === 'process' ? [] : urls))

/** What every command takes. */
export const COMMON_OPTIONS = {
  store: {
    type: 'string',
    value: 'URL',
    help: `${STORE_URLS.join(', ')}; default: $PUNCTUAL_STORE, else ${DEFAULT_STORE}`,
  },
  queue: { type: 'string', value: 'NAME', help: 'default: $PUNCTUAL_QUEUE, else "default"' },
  json: { type: 'boolean', help: 'one JSON document per line, for programs' },
  help: { type: 'boolean', short: 'h', help: 'this text' },
} as const satisfies OptionSpecs

export type CommonValues = Values<typeof COMMON_OPTIONS>

export type ParsedArguments = {
  readonly values: Readonly<Record<string, unknown>>
  readonly common: CommonValues
  readonly positionals: readonly string[]
}

export function parseArguments(command: Command, words: readonly string[]): ParsedArguments {
  const specs: OptionSpecs = { ...command.options, ...COMMON_OPTIONS }
  const { tokens, values, positionals } = parseArgs({
    args: [...words],
    options: Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, configOf(spec)])),
    strict: false, // Its own complaints run over several lines; ours are below.
    tokens: true,
  })
  for (const token of tokens) {
    if (token.kind === 'option') checkOption(specs, token, command.name)
  }
  if (values.help !== true) checkArity(command, positionals)
  return { values, common: values, positionals }
}

function configOf({ type, short, multiple }: OptionSpec): OptionSpec {
  return {
    type,
    ...(short === undefined ? {} : { short }),
    ...(multiple === undefined ? {} : { multiple }),
  } as OptionSpec
}

type OptionToken = { readonly name: string; readonly rawName: string; readonly value: string | undefined }

function checkOption(specs: OptionSpecs, { name, rawName, value }: OptionToken, command: string): void {
  const spec = Object.hasOwn(specs, name) ? specs[name] : undefined
  if (spec === undefined) {
    const guess = nearest(name, Object.keys(specs))
    const hint = guess === undefined ? '' : ` Did you mean --${guess}?`
    throw new CallError(`${command} has no option ${describe(rawName).slice(1, -1)}.${hint}`, command)
  }
  if (spec.type === 'string' && (value === undefined || value === '')) {
    throw new CallError(`${rawName} needs a value: ${rawName} ${spec.value ?? 'VALUE'}.`, command)
  }
  if (spec.type === 'boolean' && value !== undefined) {
    throw new CallError(`${rawName} takes no value, and was given ${describe(value)}.`, command)
  }
}

function checkArity({ name, operands, arity: [min, max] }: Command, positionals: readonly string[]): void {
  const usage = `punctual ${name} ${operands}`.trim()
  if (positionals.length < min) {
    const missing = operands.split(' ')[positionals.length] ?? operands
    throw new CallError(`missing argument: ${missing.replaceAll(/[[\].]/g, '')}; usage: ${usage}.`, name)
  }
  const extra = positionals[max]
  if (extra !== undefined)
    throw new CallError(`${describe(extra)} is one argument too many; usage: ${usage}.`, name)
}

const DISTANCE_MAX = 2

/** The name that was probably meant: at most two letters away. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  const ranked = names
    .map((name) => ({ name, distance: editDistance(word, name) }))
    .toSorted((a, b) => a.distance - b.distance)
  const [best] = ranked
  return best !== undefined && best.distance <= DISTANCE_MAX ? best.name : undefined
}

/** Letters to insert, delete or change; row by row, keeping one row. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 0; i < from.length; i += 1) {
    const next = [i + 1]
    for (let j = 1; j <= to.length; j += 1) {
      const changed = (row[j - 1] ?? 0) + (to[j - 1] === from[i] ? 0 : 1)
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
