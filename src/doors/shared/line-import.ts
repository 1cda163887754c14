/**
 * Many messages from JSON lines: one value per line, empty lines skipped, stored in batches, so that input of any length
 * takes little memory. A line that is wrong is named by its number, with what was stored before it.
 */
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { PunctualError, type ProduceEntry, type Punctual } from '../../index.ts'
import { CallError, FailedError } from './failure.ts'
import { parseMomentText } from './moment.ts'

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
  if (!('at' in value) || typeof value.at !== 'string') return value as ImportedEntry
  return { ...value, at: parseMomentText(value.at, `"at" of line ${number}`) } as ImportedEntry
}

async function* readJsonLines(input: Readable): AsyncGenerator<JsonLine> {
  let failure: Error | undefined
  input.once('error', (error) => {
    failure = error
  })
  let number = 0
  try {
    for await (const text of createInterface({ input, crlfDelay: Infinity })) {
      number += 1
      if (text.trim() !== '') yield { number, value: parseLine(text, number) }
    }
  } catch (error) {
    if (error !== failure) throw error
  }
  // When the source fails, some versions of Node end the lines quietly and others throw: both are a failure here.
  if (failure === undefined) return
  throw new FailedError(`the input cannot be read after line ${number}: ${failure.message}.`, {
    cause: failure,
  })
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
