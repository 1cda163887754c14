/** A child process of a test, and the lines of JSON that it says. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import type { OnEnd } from '../cli/punctual.ts'

export type Line = Readonly<Record<string, unknown>>

export class Child {
  readonly lines: Line[] = []
  readonly #process: ChildProcess
  readonly #exit: Promise<unknown>
  readonly #watchers = new Set<() => void>()

  /** `program`: a file in `children/`; it gets `options` as JSON. Killed at the end of the test, if it still runs. */
  constructor(program: string, options: object, onEnd: OnEnd = onTestFinished) {
    const path = join(import.meta.dirname, 'children', program)
    this.#process = spawn(process.execPath, [path, JSON.stringify(options)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#exit = once(this.#process, 'exit')
    onEnd(() => this.kill('SIGKILL'))
    const { stdout } = this.#process
    if (stdout === null) throw new Error('a child without a voice')
    createInterface({ input: stdout }).on('line', (line) => {
      this.lines.push(JSON.parse(line) as Line)
      for (const watch of this.#watchers) watch()
    })
  }

  /** The first line with this key, as soon as it is said. */
  said(key: string): Promise<Line> {
    return new Promise((resolve, reject) => {
      const watch = (): void => {
        const line = this.lines.find((candidate) => key in candidate)
        if (line !== undefined) resolve(line)
      }
      this.#watchers.add(watch)
      watch()
      void this.#exit.then(() => setImmediate(() => reject(new Error(`it ended without saying "${key}"`))))
    })
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name)
  }

  async kill(name: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#process.kill('SIGCONT')
    this.#process.kill(name)
    await this.#exit
  }

  /** The exit code, once it ended by itself. */
  async exited(): Promise<number | null> {
    await this.#exit
    return this.#process.exitCode
  }
}
