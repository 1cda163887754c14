/** From words to a command that ran: finds it, parses, opens the queue for it, reports how it ended. */
import { readFileSync } from 'node:fs'
import type { Clock } from '../../clock.ts'
import { describe, withoutPasswords } from '../../core/errors.ts'
import { nearest } from '../../core/input/nearest.ts'
import { Punctual, type PunctualOptions } from '../../index.ts'
import { DEFAULT_QUEUE } from '../../queue/settings.ts'
import { DEFAULT_STORE } from '../../store/engines.ts'
import { commandFirst, missingCommand, parseArguments, type CommonValues } from './arguments.ts'
import type { Command, Input } from './command.ts'
import { COMMANDS, isCommandName } from './commands.ts'
import { CallError, describeFailure, EXIT, type ExitCode } from '../shared/failure.ts'
import { renderCommandHelp, renderHelp } from './help.ts'
import { checkStore } from './store-check.ts'
import type { Output } from './terminal/output.ts'
import { printable } from '../shared/printable.ts'

export type Surroundings = {
  readonly env: NodeJS.ProcessEnv
  readonly input: Input
  readonly out: Output
  readonly err: Output
  readonly clock: Clock
}

/** Names that people try, and what does the same here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  export: '"punctual list --all --json" prints every message.',
}

export async function dispatch(given: readonly string[], around: Surroundings): Promise<ExitCode> {
  const words = commandFirst(given)
  const [name, ...rest] = words
  try {
    if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
      return await help(
        rest.find((word) => !word.startsWith('-')),
        around,
      )
    }
    if (name === '--version' || name === '-v' || name === '-V') {
      around.out.line(readVersion())
      return EXIT.fine
    }
    const missing = missingCommand(words)
    if (missing !== undefined) throw missing
    return await runCommand(await findCommand(name), rest, around)
  } catch (error) {
    return report(error, name, asksForJson(words), around)
  }
}

async function help(about: string | undefined, { out }: Surroundings): Promise<ExitCode> {
  out.line(about === undefined ? await renderHelp(out) : renderCommandHelp(await findCommand(about), out))
  return EXIT.fine
}

async function findCommand(name: string): Promise<Command> {
  if (isCommandName(name)) return COMMANDS[name]()
  if (name.startsWith('-'))
    throw new CallError(
      `${describe(name)} stands before the command; it comes after it: punctual COMMAND ${printable(name)}.`,
    )
  const guess = nearest(name, Object.keys(COMMANDS))
  const hint = ELSEWHERE[name] ?? (guess === undefined ? '' : `Did you mean "${guess}"?`)
  throw new CallError(`there is no command ${describe(name)}. ${hint}`.trimEnd())
}

async function runCommand(
  command: Command,
  words: readonly string[],
  { env, input, out, err, clock }: Surroundings,
): Promise<ExitCode> {
  const { values, common, positionals } = parseArguments(command, words)
  if (common.help === true) {
    out.line(renderCommandHelp(command, out))
    return EXIT.fine
  }
  const { store, queueName } = target(common, env)
  const { makesStore, isPatient = false } = command
  const mayMake = typeof makesStore === 'boolean' ? makesStore : makesStore(positionals)
  if (command.namesStores !== true)
    await checkStore(store, { mayMake, isPatient, option: '--store URL or PUNCTUAL_STORE' })
  const queues: Punctual[] = []
  const open = (options: PunctualOptions = {}): Punctual => {
    const queue = new Punctual({ store, queue: queueName, logger: false, ...options })
    queues.push(queue)
    return queue
  }
  try {
    const json = common.json === true
    const given = values as Readonly<Record<string, never>> // As its own specs say: see `defineCommand`.
    return await command.run({
      values: given,
      positionals,
      json,
      store,
      storeName: printable(withoutPasswords(store)),
      queueName,
      env,
      input,
      out,
      err,
      clock,
      open,
    })
  } finally {
    await Promise.all(queues.map((queue) => queue.stop()))
  }
}

type StoreAndQueue = { readonly store: string; readonly queueName: string }

/** An empty variable counts as none: that is how shells unset them for one call. */
function target({ store, queue }: CommonValues, env: NodeJS.ProcessEnv): StoreAndQueue {
  return {
    store: store ?? (env.PUNCTUAL_STORE || DEFAULT_STORE),
    queueName: queue ?? (env.PUNCTUAL_QUEUE || DEFAULT_QUEUE),
  }
}

/** Asked before the words could be parsed. After `--` everything is an operand. */
function asksForJson(words: readonly string[]): boolean {
  const end = words.indexOf('--')
  return words.slice(0, end === -1 ? undefined : end).includes('--json')
}

function report(
  error: unknown,
  name: string | undefined,
  isJson: boolean,
  { out, err }: Surroundings,
): ExitCode {
  const { exit, code, line: what, page } = describeFailure(error)
  const line = error instanceof CallError ? `${what} See "${helpFor(error.command ?? name)}".` : what
  if (isJson) out.json({ error: line, code, ...(page === undefined ? {} : { page }) })
  else {
    const where = page === undefined ? '' : err.style.dim(` See ${page}`)
    err.line(`${err.style.red('punctual:')} ${line}${where}`)
  }
  return exit
}

function helpFor(command: string | undefined): string {
  return command !== undefined && isCommandName(command) ? `punctual ${command} --help` : 'punctual --help'
}

function readVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return version
}
