/** A question before something is destroyed. Only a person at a terminal can answer; scripts say --yes. */
import { createInterface } from 'node:readline/promises'
import { CallError } from './failure.ts'

export async function confirm(question: string): Promise<boolean> {
  const { stdin, stderr } = process
  if (!stdin.isTTY) {
    throw new CallError(`${question} Nobody is there to answer: add --yes if you are sure.`)
  }
  const terminal = createInterface({ input: stdin, output: stderr })
  try {
    return /^y(?:es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}
