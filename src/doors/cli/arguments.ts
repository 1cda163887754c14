/** The words of a command line, parsed by the specs of its command; the first wrong one is named. */
import { parseArgs } from 'node:util'
import { describe } from '../../core/errors.ts'
import { nearest } from '../../core/input/nearest.ts'
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
    throw new CallError(
      `missing argument: ${missingOf(operands, positionals.length)}; usage: ${usage}.`,
      name,
    )
  }
  const extra = positionals[max]
  if (extra !== undefined)
    throw new CallError(`${describe(extra)} is one argument too many; usage: ${usage}.`, name)
}

/** `TOPIC`; or, of a command whose first word is one of several, all of them. */
function missingOf(operands: string, given: number): string {
  const choices = operands.split(' | ').map((choice) => choice.split(' ')[0] ?? '')
  if (given === 0 && choices.length > 1 && choices.every((choice) => /^[a-z]+$/.test(choice)))
    return `one of ${choices.join(', ')}`
  return (operands.split(' ')[given] ?? operands).replaceAll(/[[\].]/g, '')
}

/**
 * Options of every command may stand before it too: `punctual --store URL stats`. Answers with the word after them first,
 * which is the command or ought to be. Other options may not, since only the command knows whether a word belongs to them.
 */
export function commandFirst(words: readonly string[]): readonly string[] {
  const at = commonWords(words)
  const word = words[at]
  return at === 0 || word === undefined ? words : [word, ...words.slice(0, at), ...words.slice(at + 1)]
}

/** How many words at the beginning belong to options of every command; one more than there are if a value is missing. */
function commonWords(words: readonly string[]): number {
  let at = 0
  while (words[at]?.startsWith('--') === true) {
    const [option = '', value] = (words[at] ?? '').slice(2).split(/=(.*)/s)
    const spec = commonOption(option)
    if (spec === undefined) break
    at += spec.type === 'string' && value === undefined ? 2 : 1
  }
  return at
}

function commonOption(name: string): OptionSpec | undefined {
  return Object.hasOwn(COMMON_OPTIONS, name) ? COMMON_OPTIONS[name as keyof typeof COMMON_OPTIONS] : undefined
}

/** Of words that are options of every command and nothing else. Undefined where there is more, or nothing. */
export function missingCommand(words: readonly string[]): CallError | undefined {
  const count = commonWords(words)
  if (count === 0 || count < words.length) return undefined
  const last = words.at(-1) ?? ''
  const value = commonOption(last.slice(2))?.value ?? 'VALUE'
  const usage = 'the command is missing: punctual [OPTIONS] COMMAND.'
  return new CallError(count > words.length ? `${last} needs a value: ${last} ${value}; and ${usage}` : usage)
}
