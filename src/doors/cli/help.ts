/** The help texts, made from the commands themselves. */
import { COMMON_OPTIONS } from './arguments.ts'
import type { Command, OptionSpec, OptionSpecs } from './command.ts'
import { COMMANDS } from './commands.ts'
import type { Style } from './terminal/style.ts'
import { pad } from './terminal/table.ts'
import { widthOf } from './terminal/width.ts'

const INDENT = '  '

export async function renderHelp(style: Style): Promise<string> {
  const commands = await Promise.all(Object.values(COMMANDS).map((load): Promise<Command> => load()))
  const lines = [
    `${style.bold('punctual')}: a delayed-message queue. Hand it a message and a moment; it arrives on time.`,
    '',
    `${style.bold('Usage')}  punctual COMMAND [OPTIONS]`,
    '',
    style.bold('Commands'),
    ...twoColumns(commands.map(({ name, summary }) => [style.cyan(name), summary])),
    '',
    style.bold('Options of every command'),
    ...renderOptions(COMMON_OPTIONS, style),
    '',
    style.bold('First steps'),
    ...twoColumns([
      ['punctual demo', 'see messages arrive on time; pull the plug; see nothing lost'],
      [`punctual produce mail.send '{"to":"ada"}' --delay 10s`, 'one message, due in ten seconds'],
      ['punctual COMMAND --help', 'more about a command, with examples'],
    ]),
    '',
    style.dim('Exit codes: 0 fine, 1 failed, 2 wrong usage.'),
  ]
  return lines.join('\n')
}

export function renderCommandHelp(command: Command, style: Style): string {
  const { name, operands, summary, options, examples, notes = [] } = command
  const lines = [
    `${style.bold(`punctual ${name}`)}: ${summary}`,
    '',
    `${style.bold('Usage')}  punctual ${[name, operands, '[OPTIONS]'].filter((part) => part !== '').join(' ')}`,
    '',
    style.bold('Options'),
    ...renderOptions({ ...options, ...COMMON_OPTIONS }, style),
    '',
    style.bold('Examples'),
    ...examples.flatMap(([line, what]) => [
      `${INDENT}${style.dim(`# ${what}`)}`,
      `${INDENT}${style.cyan(line)}`,
    ]),
    ...notes.flatMap((note) => ['', note]),
  ]
  return lines.join('\n')
}

function renderOptions(options: OptionSpecs, style: Style): string[] {
  return twoColumns(
    Object.entries(options).map(([name, spec]) => [style.cyan(optionText(name, spec)), spec.help]),
  )
}

function optionText(name: string, { short, value, type }: OptionSpec): string {
  const long = `--${name}${type === 'string' ? ` ${value ?? 'VALUE'}` : ''}`
  return short === undefined ? long : `-${short}, ${long}`
}

function twoColumns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => widthOf(left)))
  return rows.map(([left, right]) => `${INDENT}${pad(left, width, 'left')}  ${right}`)
}
