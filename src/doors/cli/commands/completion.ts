import { parseOneOf } from '../../../core/input/checks.ts'
import { EXIT } from '../../shared/failure.ts'
import { defineCommand, type Command } from '../command.ts'
import { COMMANDS } from '../commands.ts'
import { renderCompletion, SHELLS } from '../completion.ts'

export const completion = defineCommand({
  name: 'completion',
  summary: 'a script that lets your shell complete commands and options',
  operands: 'bash | zsh | fish',
  arity: [1, 1],
  options: {},
  examples: [
    ['punctual completion bash > ~/.local/share/bash-completion/completions/punctual', 'bash, for good'],
    ['source <(punctual completion bash)', 'or in ~/.bashrc'],
    ['source <(punctual completion zsh)', 'in ~/.zshrc, after compinit'],
    ['punctual completion fish | source', 'in ~/.config/fish/config.fish'],
  ],
  makesStore: true,
  isPatient: true,
  run: async ({ positionals, out, json }) => {
    const shell = parseOneOf(positionals[0], 'the shell', SHELLS)
    const commands = await Promise.all(Object.values(COMMANDS).map((load): Promise<Command> => load()))
    const script = renderCompletion(shell, commands)
    if (json) out.json({ shell, script })
    else out.line(script)
    return EXIT.fine
  },
})
