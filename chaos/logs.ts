/** Reads the logs of all processes. A line that a kill tore off is left out; one torn in the middle is an error. */
import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Line } from './lines.ts'

const ENDING = '.log'

export async function readLogs(directory: string): Promise<Line[]> {
  const lines: Line[] = []
  const files = (await readdir(directory)).filter((file) => file.endsWith(ENDING)).toSorted()
  for (const file of files) for await (const line of readLog(join(directory, file))) lines.push(line)
  return lines
}

export async function* readLog(path: string): AsyncGenerator<Line> {
  const who = basename(path, ENDING)
  let torn: string | undefined
  for await (const text of createInterface({ input: createReadStream(path) })) {
    if (torn !== undefined) throw new Error(`${path}: a line in the middle cannot be read: ${torn}`)
    const line = parse(text)
    if (line === undefined) torn = text
    else yield { ...line, who } as Line
  }
}

function parse(text: string): object | undefined {
  try {
    return JSON.parse(text) as object
  } catch {
    return undefined
  }
}
