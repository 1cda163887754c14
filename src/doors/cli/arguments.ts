/** The words of a command line, parsed by the specs of its command; the first wrong one is named. */
import { parseArgs } from 'node:util'
import { describe } from '../../core/errors.ts'
import { DEFAULT_STORE, ENGINES } from '../../store/engines.ts'
import type { Command, OptionSpec, OptionSpecs, Values } from './command.ts'
import { CallError } from '../shared/failure.ts'
import { nearest } from './nearest.ts'

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
  if (positionals.length < min) throw new CallError(`too few words; usage: ${usage}.`, name)
  const extra = positionals[max]
  if (extra !== undefined)
    throw new CallError(`${describe(extra)} is one word too many; usage: ${usage}.`, name)
}
