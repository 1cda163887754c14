/**
 * Many messages from JSON lines: one value per line, empty lines skipped, stored in batches, so that input of any length
 * takes little memory. A line that is wrong is named by its number, with what was stored before it.
 */
import { constants } from 'node:buffer'
import type { Readable } from 'node:stream'
import { decodeText } from '../../core/encoding/utf8.ts'
import { PunctualError, type ProduceEntry, type Punctual } from '../../index.ts'
import { CallError, FailedError } from './failure.ts'
import { isBlank, linesIn } from './lines.ts'
import { parseAtText, parseWindowText, parseWorkdaysText } from './local-words.ts'

export type ImportedEntry = ProduceEntry<string, unknown>

export type JsonLine = { readonly number: number; readonly value: unknown }

export type LineImport = {
  readonly input: Readable
  readonly queue: Punctual
  /** Makes a message of a line's value. */
  readonly toEntry: (line: JsonLine) => ImportedEntry
  /** Called after each batch. */
  readonly onStored: (progress: { readonly stored: number; readonly bytesRead: number }) => void
}

type NumberedEntry = { readonly entry: ImportedEntry; readonly number: number }

const BATCH = 1_000

/** Answers how many were stored. */
export async function importLines({ input, queue, toEntry, onStored }: LineImport): Promise<number> {
  let stored = 0
  let bytesRead = 0
  input.on('data', (chunk: Buffer) => {
    bytesRead += chunk.length
  })
  let batch: NumberedEntry[] = []
  const store = async (): Promise<void> => {
    await storeBatch(queue, batch)
    stored += batch.length
    batch = []
    onStored({ stored, bytesRead })
  }
  try {
    for await (const line of readJsonLines(input)) {
      batch.push({ entry: toEntry(line), number: line.number })
      if (batch.length === BATCH) await store()
    }
    await store()
  } catch (error) {
    // A line that is wrong is not wrong usage: what came before it may be stored.
    if (!(error instanceof FailedError || error instanceof CallError)) throw error
    const before = `${stored.toLocaleString('en-US')} message${stored === 1 ? '' : 's'} before it stored; nothing after.`
    throw new FailedError(`${error.message} ${before}`, { cause: error.cause })
  }
  return stored
}

async function storeBatch(queue: Punctual, batch: readonly NumberedEntry[]): Promise<void> {
  const [first] = batch
  if (first === undefined) return
  try {
    await queue.produceMany(batch.map(({ entry }) => entry))
  } catch (error) {
    if (!(error instanceof PunctualError)) throw error
    const last = (batch.at(-1)?.number ?? first.number).toLocaleString('en-US')
    throw new FailedError(`lines ${first.number.toLocaleString('en-US')} to ${last}: ${error.message}`, {
      cause: error,
    })
  }
}

/** A line that is a whole message: {"topic": ..., "payload": ..., "delay" or "at": ..., ...}. */
export function parseEntry({ number, value }: JsonLine): ImportedEntry {
  if (typeof value !== 'object' || value === null || !('topic' in value)) {
    throw new FailedError(
      `line ${number} has no topic; write {"topic": "...", "payload": ..., "delay": "5m"}.`,
    )
  }
  const { at, after, within } = value as { at?: unknown; after?: unknown; within?: unknown }
  return {
    ...value,
    ...(typeof at === 'string' ? { at: parseAtText(at, `"at" of line ${number}`) } : {}),
    ...(typeof after === 'string' ? { after: parseWorkdaysText(after, `"after" of line ${number}`) } : {}),
    ...(typeof within === 'string' ? { within: parseWindowText(within, `"within" of line ${number}`) } : {}),
  } as ImportedEntry
}

/** A line of a file may be as long as a text can be. */
const LINE_LIMIT = {
  lineBytesMax: constants.MAX_STRING_LENGTH,
  tooLong: () => new FailedError('a line is too long.'),
}

async function* readJsonLines(input: AsyncIterable<Uint8Array>): AsyncGenerator<JsonLine> {
  let number = 0
  const lines = linesIn(input, LINE_LIMIT)
  for (;;) {
    const { done, value } = await lines.next().catch((cause: unknown) => {
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new FailedError(`the input cannot be read after line ${number}: ${why}.`, { cause })
    })
    if (done === true) return
    for (const bytes of value) {
      number += 1
      if (!isBlank(bytes)) yield { number, value: parseLine(bytes, number) }
    }
  }
}

function parseLine(bytes: Uint8Array, number: number): unknown {
  try {
    return JSON.parse(decodeText(bytes, `line ${number}`)) as unknown
  } catch (error) {
    if (error instanceof PunctualError) throw new FailedError(error.message, { cause: error })
    throw new FailedError(
      `line ${number} is not JSON: ${error instanceof Error ? error.message : String(error)}.`,
    )
  }
}
