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
  /** It is gone, and all that it said is read. */
  readonly #ended: Promise<unknown>
  readonly #watchers = new Set<() => void>()

  /** `program`: a file in `children/`; it gets `options` as JSON. Killed at the end of the test, if it still runs. */
  constructor(program: string, options: object, onEnd: OnEnd = onTestFinished) {
    const path = join(import.meta.dirname, 'children', program)
    this.#process = spawn(process.execPath, [path, JSON.stringify(options)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onEnd(() => this.kill('SIGKILL'))
    const { stdout } = this.#process
    if (stdout === null) throw new Error('a child without a voice')
    const reader = createInterface({ input: stdout }).on('line', (line) => {
      this.lines.push(JSON.parse(line) as Line)
      for (const watch of this.#watchers) watch()
    })
    // What it said last may be read after its end is known.
    this.#ended = Promise.all([once(this.#process, 'close'), once(reader, 'close')])
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
      void this.#ended.then(() => reject(new Error(`it ended without saying "${key}"`)))
    })
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name)
  }

  async kill(name: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#process.kill('SIGCONT')
    this.#process.kill(name)
    await this.#ended
  }

  /** The exit code, once it ended by itself. */
  async exited(): Promise<number | null> {
    await this.#ended
    return this.#process.exitCode
  }
}
