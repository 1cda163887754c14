/** Completion as people use it: keys pressed in real shells. */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { COMMANDS } from '../../src/doors/cli/commands.ts'
import { SHELLS, type Shell } from '../../src/doors/cli/completion.ts'
import { makePlace } from './punctual.ts'

function isThere(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
}

const INTERACTIVE: Readonly<Record<Shell, string>> = {
  bash: 'bash --norc --noprofile -i',
  zsh: 'zsh -f -i',
  fish: 'fish --no-config -i',
}

/** Our own `punctual`, which only tells what it was called with; a prompt to wait for; no paging of many answers. */
const PREPARE: Readonly<Record<Shell, (script: string) => string>> = {
  bash: (script) => `PS1='rea''dy> '; punctual() { echo "called: $*"; }; source ${script}`,
  zsh: (script) =>
    `PS1='rea''dy> '; autoload -Uz compinit; compinit -u -D; punctual() { echo "called: $*" }; source ${script}`,
  fish: (script) =>
    `function fish_prompt; echo 'rea''dy> '; end; function punctual; echo "called: $argv"; end; source ${script}`,
}

class Terminal {
  readonly #process
  #shown = ''

  constructor(shell: Shell, home: string) {
    // util-linux's `script` gives it a terminal of its own.
    this.#process = spawn('script', ['-qfec', INTERACTIVE[shell], '/dev/null'], {
      env: { ...process.env, TERM: 'dumb', HOME: home },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    this.#process.stdout.on('data', (chunk: Buffer) => (this.#shown += chunk.toString()))
  }

  type(keys: string): void {
    this.#process.stdin.write(keys)
  }

  /** Until it has been shown so often; answers what was shown since the call. */
  async shows(text: string | RegExp): Promise<string> {
    for (;;) {
      const match = typeof text === 'string' ? this.#shown.indexOf(text) : this.#shown.search(text)
      if (match >= 0) {
        const shown = this.#shown
        this.#shown = ''
        return shown
      }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  end(): void {
    this.#process.kill('SIGKILL')
  }
}

async function load(shell: Shell): Promise<{ script: string; home: string }> {
  const home = await mkdtemp(join(tmpdir(), 'punctual-completion-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  const { code, stdout } = await (await makePlace()).run(['completion', shell])
  expect(code).toBe(0)
  const script = join(home, 'script')
  await writeFile(script, stdout)
  return { script, home }
}

/** fish draws with what a dumb terminal does not have; it is asked in its own way below. */
describe.each(['bash', 'zsh'] as const)('%s', (shell) => {
  it.skipIf(!isThere(shell) || !isThere('script'))('Tab completes commands, options and values', async () => {
    const { script, home } = await load(shell)
    const terminal = new Terminal(shell, home)
    onTestFinished(() => terminal.end())
    terminal.type(`${PREPARE[shell](script)}\r`)
    await terminal.shows('ready> ')
    const cases: readonly [keys: string, called: string][] = [
      ['punctual prod\t', 'called: produce'],
      ['punctual list --stat\tdel\t', 'called: list --state delayed'],
      ['punctual schedule rem\tdaily', 'called: schedule remove daily'],
      ['punctual help work\t', 'called: help work'],
    ]
    for (const [keys, called] of cases) {
      terminal.type(`${keys}\r`)
      expect(await terminal.shows(/called: [^\n]*\n[^]*ready> /)).toContain(called)
    }
  })
})

describe('fish', () => {
  const asked: readonly [line: string, answers: readonly string[]][] = [
    ['punctual prod', ['produce']],
    ['punctual list --stat', ['--state']],
    ['punctual list --state d', ['dead', 'delayed']],
    ['punctual schedule re', ['remove', 'resume']],
    ['punctual help wor', ['work', 'workers']],
  ]

  it.skipIf(!isThere('fish')).each(asked)('%s', async (line, answers) => {
    const { script, home } = await load('fish')
    const { stdout } = spawnSync('fish', ['--no-config', '-c', `source ${script}; complete -C '${line}'`], {
      encoding: 'utf8',
      env: { ...process.env, HOME: home },
    })
    expect(
      stdout
        .trim()
        .split('\n')
        .map((found) => found.split('\t')[0]),
    ).toEqual(answers)
  })
})

describe('the scripts', () => {
  it.each(SHELLS)('%s: know every command and every option', async (shell) => {
    const { stdout } = await (await makePlace()).run(['completion', shell])
    for (const [name, command] of Object.entries(COMMANDS)) {
      expect(stdout).toContain(name)
      for (const option of Object.keys((await command()).options))
        expect(stdout).toContain(shell === 'fish' ? ` -l ${option}` : `--${option}`)
    }
  })

  it('no other shell is known', async () => {
    const { code, stderr } = await (await makePlace()).run(['completion', 'csh'])
    expect(code).toBe(2)
    expect(stderr).toContain('give one of: bash, zsh, fish')
  })

  it('need no store', async () => {
    const place = await makePlace('redis://127.0.0.1:1')
    expect(await place.run(['completion', 'bash'])).toMatchObject({ code: 0, stderr: '' })
  })
})
