/**
 * One of the two streams that a command writes to. Its reader may leave early (`punctual list | head -1`): that
 * is no error, so writing goes on into nothing, and commands that would run long watch `closed`.
 */
import type { WriteStream } from 'node:tty'
import { styleFor, type Style } from './style.ts'

/** What a pipe has no columns for is laid out as if it had these. */
const COLUMNS_WITHOUT_TERMINAL = 100
const ROWS_WITHOUT_TERMINAL = 24

export class Output {
  readonly isTerminal: boolean
  readonly style: Style
  readonly #stream: WriteStream
  readonly #closing = new AbortController()

  constructor(stream: WriteStream, env: NodeJS.ProcessEnv) {
    this.#stream = stream
    this.isTerminal = 'isTTY' in stream && stream.isTTY // Absent on pipes and files, whatever the type says.
    this.style = styleFor({ isTerminal: this.isTerminal, env })
    stream.on('error', () => this.#closing.abort())
  }

  /** Aborts when its reader has gone. */
  get closed(): AbortSignal {
    return this.#closing.signal
  }

  get columns(): number {
    return this.isTerminal ? this.#stream.columns : COLUMNS_WITHOUT_TERMINAL
  }

  get rows(): number {
    return this.isTerminal ? this.#stream.rows : ROWS_WITHOUT_TERMINAL
  }

  write(text: string): void {
    if (!this.#closing.signal.aborted) this.#stream.write(text)
  }

  line(text = ''): void {
    this.write(`${text}\n`)
  }

  /** One document on one line, so that many of them can be read by line. */
  json(value: unknown): void {
    this.line(JSON.stringify(value))
  }

  /** Resolves when everything written is out of our hands, or its reader has gone. */
  flush(): Promise<void> {
    if (this.#closing.signal.aborted) return Promise.resolve()
    return new Promise((resolve) => this.#stream.write('', () => resolve()))
  }
}
