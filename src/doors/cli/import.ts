/** Many messages from JSON lines, stored in batches, so that input of any length takes little memory. */
import { PunctualError, type ProduceEntry, type Punctual } from '../../index.ts'
import type { Call } from './command.ts'
import { CallError, FailedError } from '../shared/failure.ts'
import { formatCount, plural } from './terminal/figures.ts'
import { JsonLines, type JsonLine } from './json-lines.ts'
import { parseMomentText } from '../shared/moment.ts'
import { Progress } from './terminal/progress.ts'

export type Entry = ProduceEntry<string, unknown>

const BATCH = 1_000

/** `toEntry` makes a message of a line's value. Answers how many were stored. */
export async function importLines(
  { input, err, clock }: Pick<Call, 'input' | 'err' | 'clock'>,
  queue: Punctual,
  toEntry: (line: JsonLine) => Entry,
): Promise<number> {
  const lines = new JsonLines(input)
  const progress = new Progress(err, clock)
  let stored = 0
  let batch: { entry: Entry; number: number }[] = []
  const store = async (): Promise<void> => {
    await storeBatch(queue, batch)
    stored += batch.length
    batch = []
    progress.update({ done: stored, ...(lines.share === undefined ? {} : { share: lines.share }) })
  }
  try {
    for await (const line of lines) {
      batch.push({ entry: toEntry(line), number: line.number })
      if (batch.length === BATCH) await store()
    }
    await store()
  } catch (error) {
    progress.end()
    // A line that is wrong is no wrong usage: what came before it may be stored.
    if (!(error instanceof FailedError || error instanceof CallError)) throw error
    const before = `${plural(stored, 'message')} before it stored; nothing after.`
    throw new FailedError(`${error.message} ${before}`, { cause: error.cause })
  }
  progress.end()
  return stored
}

async function storeBatch(
  queue: Punctual,
  batch: readonly { entry: Entry; number: number }[],
): Promise<void> {
  const [first] = batch
  if (first === undefined) return
  try {
    await queue.produceMany(batch.map(({ entry }) => entry))
  } catch (error) {
    if (!(error instanceof PunctualError)) throw error
    const last = formatCount(batch.at(-1)?.number ?? first.number)
    throw new FailedError(`lines ${formatCount(first.number)} to ${last}: ${error.message}`, { cause: error })
  }
}

/** A line that is a whole message: {"topic": ..., "payload": ..., "delay" or "at": ..., ...}. */
export function parseEntry({ number, value }: JsonLine): Entry {
  if (typeof value !== 'object' || value === null || !('topic' in value)) {
    throw new FailedError(
      `line ${number} has no topic; write {"topic": "...", "payload": ..., "delay": "5m"}.`,
    )
  }
  if (!('at' in value) || typeof value.at !== 'string') return value as Entry
  return { ...value, at: parseMomentText(value.at, `"at" of line ${number}`) } as Entry
}
