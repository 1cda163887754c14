/** The command line without a process of its own: the same words and streams, a hundred times as many per second. */
import { Readable, Writable } from 'node:stream'
import type { WriteStream } from 'node:tty'
import { systemClock, type Clock } from '../../src/clock.ts'
import { parseArguments } from '../../src/doors/cli/arguments.ts'
import type { Command } from '../../src/doors/cli/command.ts'
import { dispatch } from '../../src/doors/cli/dispatch.ts'
import type { Punctual } from '../../src/index.ts'
import { Output } from '../../src/doors/cli/terminal/output.ts'
import { Place, type Result, type RunOptions } from './punctual.ts'

/** Far beyond what the slowest stop takes; only there so that a hang is named. */
const CAP_MS = 120_000

export type Ended = {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** It ended by itself, so that its output is whole. */
  readonly isWhole: boolean
}

export type Surroundings = {
  readonly stdin: string | Buffer
  readonly env: NodeJS.ProcessEnv
  /** After this time its output is read no more: the end of every command that runs until it is told to stop. */
  readonly readForMs?: number
}

export async function runHere(
  words: readonly string[],
  { stdin, env, readForMs }: Surroundings,
): Promise<Ended> {
  const stdout = new Capture()
  const stderr = new Capture()
  const out = new Output(stdout as unknown as WriteStream, env)
  const err = new Output(stderr as unknown as WriteStream, env)
  const leave = (): void => void stdout.destroy(new Error('nobody reads any more'))
  const leaving = readForMs === undefined ? undefined : setTimeout(leave, readForMs)
  let cap: NodeJS.Timeout | undefined
  const hang = new Promise<never>((_, reject) => {
    cap = setTimeout(() => reject(new Error(`no end within ${CAP_MS} ms`)), CAP_MS)
  })
  try {
    const input = Readable.from([Buffer.from(stdin)], { objectMode: false })
    const ended = dispatch(words, { env, input, out, err, clock: systemClock })
    const code = await Promise.race([ended, hang])
    return { code, stdout: stdout.text, stderr: stderr.text, isWhole: !stdout.destroyed }
  } finally {
    clearTimeout(leaving)
    clearTimeout(cap)
  }
}

/** A place whose commands run in this process; what is started, and told to stop, is a process all the same. */
export class PlaceHere extends Place {
  override async run(words: readonly string[], { stdin = '', env = {} }: RunOptions = {}): Promise<Result> {
    // What would be beside a process is beside this directory.
    const store = { PUNCTUAL_STORE: `file:${this.directory}/.punctual` }
    const { code, stdout, stderr } = await runHere(words, { stdin, env: { ...store, ...this.env, ...env } })
    return { code, stdout, stderr }
  }
}

type Here = { readonly queue: Punctual; readonly clock: Clock; readonly columns: number }

/** One command on a queue that the test holds, as on a terminal of so many columns that shows no colours. */
export async function runCommandHere(
  command: Command,
  words: readonly string[],
  { queue, clock, columns }: Here,
): Promise<Ended> {
  const env = { NO_COLOR: '1' }
  const terminal = { isTTY: true, columns, rows: 50 }
  const stdout = Object.assign(new Capture(), terminal)
  const stderr = Object.assign(new Capture(), terminal)
  const { values, positionals, common } = parseArguments(command, words)
  const code = await command.run({
    values: values as Readonly<Record<string, never>>,
    positionals,
    json: common.json === true,
    store: 'model:',
    storeName: 'model:',
    queueName: 'default',
    env,
    input: Readable.from([]),
    out: new Output(stdout as unknown as WriteStream, env),
    err: new Output(stderr as unknown as WriteStream, env),
    clock,
    open: () => queue,
  })
  return { code, stdout: stdout.text, stderr: stderr.text, isWhole: true }
}

class Capture extends Writable {
  readonly #chunks: Buffer[] = []

  get text(): string {
    return Buffer.concat(this.#chunks).toString()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk)
    done()
  }
}
