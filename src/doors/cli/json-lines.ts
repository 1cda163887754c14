/** Standard input as JSON lines: one value per line, empty lines skipped, each with its number for complaints. */
import { fstatSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Input } from './command.ts'
import { FailedError } from '../shared/failure.ts'

export type JsonLine = { readonly number: number; readonly value: unknown }

export class JsonLines {
  readonly #input: Input
  readonly #bytesTotal: number | undefined
  #bytesRead = 0

  constructor(input: Input) {
    this.#input = input
    this.#bytesTotal = bytesOf(input)
  }

  /** How much of the input was read; undefined for a pipe, whose end nobody knows. */
  get share(): number | undefined {
    return this.#bytesTotal === undefined ? undefined : Math.min(1, this.#bytesRead / this.#bytesTotal)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<JsonLine> {
    const input = this.#input
    let failure: unknown
    input.on('data', (chunk: Buffer) => {
      this.#bytesRead += chunk.length
    })
    // Lines end quietly when their source fails: what failed would look like the end of the input.
    input.once('error', (error) => {
      failure = error
    })
    let number = 0
    for await (const text of createInterface({ input, crlfDelay: Infinity })) {
      number += 1
      if (text.trim() !== '') yield { number, value: parseLine(text, number) }
    }
    if (failure !== undefined) throw unreadable(failure, number)
  }
}

function parseLine(text: string, number: number): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new FailedError(
      `line ${number} is not JSON: ${error instanceof Error ? error.message : String(error)}.`,
    )
  }
}

function unreadable(cause: unknown, number: number): FailedError {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new FailedError(`standard input cannot be read after line ${number}: ${why}.`, { cause })
}

/** Also where Node makes an empty input of what it cannot read: a directory must not pass for that. */
function bytesOf(input: Input): number | undefined {
  if (input !== process.stdin) return undefined
  const stat = fstatSync(0)
  if (stat.isDirectory()) throw unreadable('it is a directory', 0)
  return stat.isFile() && stat.size > 0 ? stat.size : undefined
}
