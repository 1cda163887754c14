/** The help texts, made from the commands themselves. */
import { COMMON_OPTIONS } from './arguments.ts'
import type { Command, OptionSpec, OptionSpecs } from './command.ts'
import { COMMANDS } from './commands.ts'
import type { Style } from './terminal/style.ts'
import { pad } from './terminal/table.ts'
import { widthOf, wrap } from './terminal/width.ts'

/** It goes before any command. */
const VERSION_OPTION = { type: 'boolean', short: 'v', help: 'the version of punctual' } as const

const INDENT = '  '
/** Below this the right column would be a stack of single words: it goes under the left one. */
const RIGHT_WIDTH_MIN = 28

/** Where it is shown. */
type HelpPage = { readonly style: Style; readonly columns: number }

export async function renderHelp({ style, columns }: HelpPage): Promise<string> {
  const commands = await Promise.all(Object.values(COMMANDS).map((load): Promise<Command> => load()))
  const lines = [
    ...wrap(
      `${style.bold('punctual')}: a delayed-message queue. Hand it a message and a moment; it arrives on time.`,
      columns,
    ),
    '',
    `${style.bold('Usage')}  punctual COMMAND [OPTIONS]`,
    '',
    style.bold('Commands'),
    ...twoColumns(
      commands.map(({ name, summary }) => [style.cyan(name), summary]),
      columns,
    ),
    '',
    style.bold('Options of every command'),
    ...renderOptions({ ...COMMON_OPTIONS, version: VERSION_OPTION }, { style, columns }),
    '',
    style.bold('First steps'),
    ...twoColumns(
      [
        ['punctual demo', 'see messages arrive on time; pull the plug; see nothing lost'],
        [`punctual produce mail.send '{"to":"ada"}' --delay 10s`, 'one message, due in ten seconds'],
        ['punctual serve', 'the dashboard, in your browser'],
        ['punctual COMMAND --help', 'more about a command, with examples'],
        ['punctual completion bash', 'lets your shell complete commands and options'],
      ],
      columns,
    ),
    '',
    ...wrap('Exit codes: 0 fine, 1 failed, 2 wrong usage.', columns).map(style.dim),
  ]
  return lines.join('\n')
}

export function renderCommandHelp(command: Command, { style, columns }: HelpPage): string {
  const { name, operands, summary, options, examples, notes = [] } = command
  const usage = [name, operands, '[OPTIONS]'].filter((part) => part !== '').join(' ')
  const lines = [
    ...wrap(`${style.bold(`punctual ${name}`)}: ${summary}`, columns),
    '',
    ...hang(wrap(`${style.bold('Usage')}  punctual ${usage}`, columns - 4), '    '),
    '',
    style.bold('Options'),
    ...renderOptions({ ...options, ...COMMON_OPTIONS }, { style, columns }),
    '',
    style.bold('Examples'),
    ...examples.flatMap(([line, what]) => [
      ...wrap(what, columns - 4).map((part) => `${INDENT}${style.dim(`# ${part}`)}`),
      ...renderExample(line, columns).map((part) => `${INDENT}${style.cyan(part)}`),
    ]),
    ...notes.flatMap((note) => ['', ...wrap(note.replaceAll('\n', ' '), columns)]),
  ]
  return lines.join('\n')
}

/** A command that is longer than a line is one that a shell still understands. */
function renderExample(line: string, columns: number): string[] {
  const parts = wrap(line, columns - INDENT.length - 6)
  return hang(
    parts.map((part, i) => (i === parts.length - 1 ? part : `${part} \\`)),
    '    ',
  )
}

function renderOptions(options: OptionSpecs, { style, columns }: HelpPage): string[] {
  return twoColumns(
    Object.entries(options).map(([name, spec]) => [style.cyan(optionText(name, spec)), spec.help]),
    columns,
  )
}

function optionText(name: string, { short, value, type }: OptionSpec): string {
  const long = `--${name}${type === 'string' ? ` ${value ?? 'VALUE'}` : ''}`
  return short === undefined ? long : `-${short}, ${long}`
}

/** The right column hangs beside the left one; where that leaves no room, below it. */
function twoColumns(rows: readonly (readonly [string, string])[], columns: number): string[] {
  const width = Math.max(...rows.map(([left]) => widthOf(left)))
  const beside = INDENT.length + width + 2
  if (columns - beside < RIGHT_WIDTH_MIN) {
    const under = INDENT.repeat(3)
    return rows.flatMap(([left, right]) => [
      ...renderExample(left, columns).map((line) => INDENT + line),
      ...wrap(right, columns - under.length).map((line) => under + line),
    ])
  }
  return rows.flatMap(([left, right]) => {
    const [first = '', ...rest] = wrap(right, columns - beside)
    return [
      `${INDENT}${pad(left, width, 'left')}  ${first}`,
      ...rest.map((line) => ' '.repeat(beside) + line),
    ]
  })
}

/** All lines but the first are moved in. */
function hang([first = '', ...rest]: readonly string[], by: string): string[] {
  return [first, ...rest.map((line) => by + line)]
}
