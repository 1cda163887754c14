/** A question before something is destroyed. Only a person at a terminal can answer; scripts say --yes. */
import { createInterface } from 'node:readline/promises'
import type { Input } from '../command.ts'
import { CallError } from '../../shared/failure.ts'

export async function confirm(question: string, input: Input): Promise<boolean> {
  if (input.isTTY !== true) {
    throw new CallError(`${question} There is no terminal to ask on: add --yes if you are sure.`)
  }
  const terminal = createInterface({ input, output: process.stderr })
  try {
    return /^y(?:es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}
