/**
 * What a shell needs to complete commands, options and their values, made from the commands themselves. The scripts know
 * everything when they are loaded: pressing Tab starts no process.
 */
import { PRIORITIES, MESSAGE_STATES } from '../../core/message.ts'
import { UNITS } from '../shared/calendar.ts'
import { COMMON_OPTIONS } from './arguments.ts'
import type { Command, OptionSpec } from './command.ts'

/** By what stands for a value in the help. Others are the user's own: topics, ids, durations. */
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  STATE: MESSAGE_STATES,
  PRIORITY: PRIORITIES,
  UNIT: UNITS,
}
const FILES = new Set(['FILE', 'DIRECTORY', 'PATH'])

type Flag = {
  readonly name: string
  readonly help: string
  readonly takes: 'nothing' | 'files' | 'text' | readonly string[]
}

type Completed = {
  readonly name: string
  readonly summary: string
  readonly flags: readonly Flag[]
  /** What may come first: `set`, `list`. */
  readonly actions: readonly string[]
  readonly takesFiles: boolean
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

export function renderCompletion(shell: Shell, commands: readonly Command[]): string {
  const completed = commands.map(completedBy)
  const help = {
    name: 'help',
    summary: 'about a command',
    flags: [],
    actions: completed.map(({ name }) => name),
    takesFiles: false,
  }
  return { bash: renderBash, zsh: renderZsh, fish: renderFish }[shell]([...completed, help])
}

function completedBy({ name, summary, operands, options }: Command): Completed {
  const flags = Object.entries({ ...options, ...COMMON_OPTIONS }).map(([flag, spec]) => ({
    name: flag,
    help: spec.help,
    takes: takenBy(spec),
  }))
  const actions = operands.match(/\b[a-z]+\b/g) ?? []
  return { name, summary, flags, actions, takesFiles: operands.split(/\W+/).some((word) => FILES.has(word)) }
}

function takenBy({ type, value = '' }: OptionSpec): Flag['takes'] {
  if (type === 'boolean') return 'nothing'
  return CHOICES[value] ?? (FILES.has(value) ? 'files' : 'text')
}

function listOf(takes: Flag['takes']): readonly string[] {
  return typeof takes === 'string' ? [] : takes
}

function renderBash(commands: readonly Completed[]): string {
  const names = [...commands.map(({ name }) => name), '--help', '--version']
  const values = commands.flatMap(({ name, flags }) =>
    flags
      .filter(({ takes }) => listOf(takes).length > 0)
      .map((flag) => `    '${name} --${flag.name}') words='${listOf(flag.takes).join(' ')}' ;;`),
  )
  const cases = commands.map(
    ({ name, flags, actions }) =>
      `    ${name}) options='${flags.map((flag) => `--${flag.name}`).join(' ')}' actions='${actions.join(' ')}' ;;`,
  )
  return `# For ~/.bashrc: source <(punctual completion bash)
_punctual() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]}
  local words='' options='' actions=''
  COMPREPLY=()
  case "$command $before" in
${values.join('\n')}
  esac
  case "$command" in
${cases.join('\n')}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words='${names.join(' ')}'
  elif [ -n "$words" ]; then :
  elif [[ $current == -* ]]; then words=$options
  elif [ "$COMP_CWORD" -eq 2 ]; then words=$actions
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _punctual punctual`
}

function renderZsh(commands: readonly Completed[]): string {
  const values = commands.flatMap(({ name, flags }) =>
    flags
      .filter(({ takes }) => listOf(takes).length > 0)
      .map((flag) => `    '${name} --${flag.name}') compadd ${listOf(flag.takes).join(' ')}; return ;;`),
  )
  const cases = commands.map(
    ({ name, flags, actions }) => `    ${name})
      options=(${flags.map((flag) => described(`--${flag.name}`, flag.help)).join(' ')})
      actions=(${actions.join(' ')}) ;;`,
  )
  return `#compdef punctual
# For ~/.zshrc, after compinit: source <(punctual completion zsh)
_punctual() {
  local -a commands options actions
  commands=(${commands.map(({ name, summary }) => described(name, summary)).join(' ')})
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  case "$words[2] $words[CURRENT-1]" in
${values.join('\n')}
  esac
  case "$words[2]" in
${cases.join('\n')}
  esac
  if [[ "$words[CURRENT]" == -* ]]; then _describe -o option options
  elif (( CURRENT == 3 && $#actions )); then compadd -a actions
  else _files
  fi
}
if [ "$funcstack[1]" = _punctual ]; then _punctual "$@"; else compdef _punctual punctual; fi`
}

function renderFish(commands: readonly Completed[]): string {
  const lines = commands.flatMap(({ name, summary, flags, actions, takesFiles }) => {
    const within = `-n '__fish_seen_subcommand_from ${name}'`
    const isFirst = `-n '__fish_seen_subcommand_from ${name}; and not __fish_seen_subcommand_from ${actions.join(' ')}'`
    return [
      `complete -c punctual -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
      ...(actions.length === 0 ? [] : [`complete -c punctual ${isFirst} -a '${actions.join(' ')}'`]),
      ...(takesFiles ? [`complete -c punctual ${within} -F`] : []),
      ...flags.map(
        (flag) => `complete -c punctual ${within} -l ${flag.name}${fishValue(flag)} -d ${quoted(flag.help)}`,
      ),
    ]
  })
  return `# For ~/.config/fish/config.fish: punctual completion fish | source
complete -c punctual -f
complete -c punctual -n __fish_use_subcommand -l version -s v
${lines.join('\n')}`
}

function fishValue({ takes }: Flag): string {
  if (takes === 'nothing') return ''
  if (takes === 'files') return ' -r -F'
  return takes === 'text' ? ' -x' : ` -x -a '${takes.join(' ')}'`
}

/** `name:what it is`, as zsh reads it. */
function described(name: string, what: string): string {
  return quoted(`${name.replaceAll(':', '\\:')}:${what}`)
}

/** In single quotes, and with none inside: no shell looks into it, and all of them understand it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '’').replaceAll('\\', '')}'`
}
