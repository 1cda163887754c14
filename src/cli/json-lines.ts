/** Standard input as JSON lines: one value per line, empty lines skipped, each with its number for complaints. */
import { fstatSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { FailedError } from './failure.ts'

export type JsonLine = { readonly number: number; readonly value: unknown }

export class JsonLines {
  readonly #bytesTotal = bytesOfStdin()
  #bytesRead = 0

  /** How much of the input was read; undefined for a pipe, whose end nobody knows. */
  get share(): number | undefined {
    return this.#bytesTotal === undefined ? undefined : Math.min(1, this.#bytesRead / this.#bytesTotal)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<JsonLine> {
    process.stdin.on('data', (chunk: Buffer) => {
      this.#bytesRead += chunk.length
    })
    let number = 0
    for await (const text of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
      number += 1
      if (text.trim() !== '') yield { number, value: parseLine(text, number) }
    }
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

function bytesOfStdin(): number | undefined {
  const stat = fstatSync(0)
  return stat.isFile() && stat.size > 0 ? stat.size : undefined
}
