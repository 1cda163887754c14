/**
 * Real processes for the tests. Child programs are plain JavaScript beside this file; what they need of punctual they import from
 * dist/, so they run what users run.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import path from 'node:path'
import { createInterface } from 'node:readline'

const DIST = path.resolve(import.meta.dirname, '../../../dist')

type Arguments = Readonly<Record<string, unknown>>
type Command = { readonly command: string; readonly args: readonly string[] }

const children = new Set<Child>()

/** `under`: another command that starts it, such as one that makes a namespace. */
export function start(program: string, args: Arguments, under: readonly string[] = []): Child {
  const own = commandOf(program, args)
  const [command = own.command, ...rest] = [...under, own.command, ...own.args]
  const child = new Child({ command, args: rest })
  children.add(child)
  return child
}

/** The same as a command line, for running it under something else. */
export function commandOf(program: string, args: Arguments): Command {
  return {
    command: process.execPath,
    args: [path.join(import.meta.dirname, 'children', program), JSON.stringify({ ...args, build: DIST })],
  }
}

/** Ends every child of this file. */
export async function endAll(): Promise<void> {
  for (const child of children) await child.kill()
}

/** A child process that reports by lines on its standard output. */
export class Child {
  /** Every line so far. A line that was not finished when the process died does not count. */
  readonly lines: string[] = []
  readonly #process: ChildProcess
  readonly #ended: Promise<void>
  readonly #waiters = new Set<() => void>()
  #errors = ''
  #hasEnded = false

  constructor({ command, args }: Command) {
    this.#process = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const { stdout, stderr } = this.#process
    if (stdout === null || stderr === null) throw new Error('a child without pipes')
    stderr.on('data', (data: Buffer) => (this.#errors += data.toString()))
    const reader = createInterface({ input: stdout })
    reader.on('line', (line) => {
      this.lines.push(line)
      this.#callWaiters()
    })
    const exited = new Promise<void>((resolve) => this.#process.once('close', () => resolve()))
    const read = new Promise<void>((resolve) => reader.once('close', () => resolve()))
    this.#ended = this.#end(exited, read)
  }

  /** Resolves with the first line that begins with `prefix`; fails when the child ends without one. */
  async said(prefix: string): Promise<string> {
    for (;;) {
      const line = this.lines.find((candidate) => candidate.startsWith(prefix))
      if (line !== undefined) return line
      if (this.#hasEnded) throw new Error(`the child ended without saying "${prefix}": ${this.#errors}`)
      await new Promise<void>((resolve) => this.#waiters.add(resolve))
    }
  }

  /** SIGKILL: the process gets no chance to clean up. Resolves when it is gone and all it said is read. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#ended
  }

  /** Resolves when the child ends by itself; fails if it did not end well. */
  async finished(): Promise<void> {
    await this.#ended
    if (this.#process.exitCode !== 0) throw new Error(`the child failed: ${this.#errors}`)
  }

  async #end(exited: Promise<void>, read: Promise<void>): Promise<void> {
    await Promise.all([exited, read])
    this.#hasEnded = true
    this.#callWaiters()
  }

  #callWaiters(): void {
    const waiters = [...this.#waiters]
    this.#waiters.clear()
    for (const waiter of waiters) waiter()
  }
}
