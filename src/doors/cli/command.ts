/** What a command is: its name, what its help says, the options it takes, and what it does. */
import type { Readable } from 'node:stream'
import type { Clock } from '../../clock.ts'
import type { Punctual, PunctualOptions } from '../../index.ts'
import type { ExitCode } from '../shared/failure.ts'
import type { Output } from './terminal/output.ts'

export type OptionSpec = {
  readonly type: 'string' | 'boolean'
  /** May be given several times. */
  readonly multiple?: boolean
  readonly short?: string
  /** What stands for the value in the help: `DURATION`. */
  readonly value?: string
  readonly help: string
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>

type ValueOf<O extends OptionSpec> = O extends { type: 'boolean' }
  ? boolean
  : O extends { multiple: true }
    ? readonly string[]
    : string

export type Values<O extends OptionSpecs> = { readonly [K in keyof O]?: ValueOf<O[K]> }

/** Standard input: a terminal, or anything that can be read. */
export type Input = Readable & { readonly isTTY?: boolean }

/** Everything a command may touch. */
export type Call<O extends OptionSpecs = OptionSpecs> = {
  readonly values: Values<O>
  readonly positionals: readonly string[]
  readonly json: boolean
  readonly store: string
  /** The same for people's eyes. */
  readonly storeName: string
  readonly queueName: string
  readonly env: NodeJS.ProcessEnv
  readonly input: Input
  readonly out: Output
  readonly err: Output
  readonly clock: Clock
  /** A queue on the store that was named, without a log: what fails says so by itself. Stopped when the command ends. */
  readonly open: (options?: PunctualOptions) => Punctual
}

export type Example = readonly [command: string, what: string]

export type CommandSpec<O extends OptionSpecs = OptionSpecs> = {
  readonly name: string
  readonly summary: string
  /** What follows the name: `TOPIC [JSON | -]`. */
  readonly operands: string
  /** How many operands it takes. */
  readonly arity: readonly [min: number, max: number]
  readonly options: O
  readonly examples: readonly Example[]
  /** More to know, as short paragraphs. */
  readonly notes?: readonly string[]
  /** A store that does not exist yet is made (`produce`), or is a mistake in its name (`stats`). */
  readonly makesStore: boolean | ((positionals: readonly string[]) => boolean)
  /** Its own options name stores; --store is not looked at. */
  readonly namesStores?: boolean
  /** It runs for long, and waits for a server that is not there yet. */
  readonly isPatient?: boolean
  readonly run: (call: Call<O>) => Promise<ExitCode>
}

/** With the types of its options forgotten: `arguments.ts` parses by the very specs that it was declared with. */
export type Command = Omit<CommandSpec, 'run'> & { readonly run: (call: Call) => Promise<ExitCode> }

export function defineCommand<const O extends OptionSpecs>(spec: CommandSpec<O>): Command {
  return spec as unknown as Command
}
