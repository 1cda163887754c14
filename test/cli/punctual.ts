/** The real binary in a directory of its own, as a shell would run it. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { onTestFinished } from 'vitest'

export const BINARY = resolve(import.meta.dirname, '../../dist/doors/cli/main.js')

export type Result = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

export type RunOptions = { readonly stdin?: string; readonly env?: NodeJS.ProcessEnv }

/** Where to leave what must be tidied up; tests that run side by side bring their own. */
export type OnEnd = (tidy: () => Promise<void>) => void

/** A shell-like place: one directory, one store. */
export class Place {
  readonly directory: string
  protected readonly env: NodeJS.ProcessEnv
  readonly #onEnd: OnEnd

  constructor(directory: string, store: string | undefined, onEnd: OnEnd) {
    this.directory = directory
    this.#onEnd = onEnd
    const { NO_COLOR: _colour, PUNCTUAL_STORE: _store, PUNCTUAL_QUEUE: _queue, ...env } = process.env
    this.env = { ...env, TZ: 'UTC', ...(store === undefined ? {} : { PUNCTUAL_STORE: store }) }
  }

  start(words: readonly string[], { env = {} }: RunOptions = {}): Running {
    const child = spawn(process.execPath, [BINARY, ...words], {
      cwd: this.directory,
      env: { ...this.env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    return new Running(child, this.#onEnd)
  }

  async run(words: readonly string[], options: RunOptions = {}): Promise<Result> {
    const running = this.start(words, options)
    running.type(options.stdin ?? '')
    return running.ended
  }

  /** The one document that a command with --json prints. */
  async json(words: readonly string[], options?: RunOptions): Promise<unknown> {
    const { stdout } = await this.run([...words, '--json'], options)
    return JSON.parse(stdout)
  }

  async write(name: string, text: string): Promise<void> {
    await writeFile(join(this.directory, name), text)
  }
}

export class Running {
  readonly child: ChildProcess
  readonly ended: Promise<Result>
  stdout = ''
  stderr = ''

  constructor(child: ChildProcess, onEnd: OnEnd) {
    this.child = child
    child.stdout?.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()))
    child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()))
    child.stdin?.on('error', () => undefined)
    this.ended = once(child, 'close').then(([code]) => ({
      code: code as number | null,
      stdout: this.stdout,
      stderr: this.stderr,
    }))
    onEnd(async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await this.ended
    })
  }

  /** All of its standard input. */
  type(text: string): void {
    this.child.stdin?.end(text)
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name)
  }

  /** Resolves when its output contains `text`; rejects if it ends before. */
  async says(text: string): Promise<void> {
    while (!`${this.stdout}${this.stderr}`.includes(text)) {
      const more = new Promise<'more'>((hear) => {
        this.child.stdout?.once('data', () => hear('more'))
        this.child.stderr?.once('data', () => hear('more'))
      })
      if ((await Promise.race([more, this.ended])) !== 'more') {
        if (`${this.stdout}${this.stderr}`.includes(text)) return
        throw new Error(`it ended without saying "${text}": ${this.stdout}${this.stderr}`)
      }
    }
  }
}

/** On the file engine, in a new directory. `Kind`: how its commands run. */
export async function makePlace(
  store?: string,
  onEnd: OnEnd = onTestFinished,
  Kind: typeof Place = Place,
): Promise<Place> {
  const directory = await mkdtemp(join(tmpdir(), 'punctual-cli-'))
  onEnd(() => rm(directory, { recursive: true, force: true }))
  return new Kind(directory, store, onEnd)
}
