/**
 * A body of any length, line by line. What is kept is one chunk and one unfinished line, which has a limit: a client that never
 * ends its line cannot fill the memory.
 */
import { HttpRefusal } from './problem.ts'

const LINE_FEED = 0x0a

/** The lines that each chunk finishes, together. The last line needs no end. */
export async function* linesIn(
  chunks: AsyncIterable<Uint8Array>,
  lineBytesMax: number,
): AsyncGenerator<readonly string[]> {
  /** The beginning of a line that is not over: in pieces, because a long one comes in many. */
  let begun: Uint8Array[] = []
  let begunBytes = 0
  const finish = (end: Uint8Array): string => {
    if (begunBytes + end.length > lineBytesMax) throw tooLong(lineBytesMax)
    const whole = begun.length === 0 ? end : Buffer.concat([...begun, end])
    begun = []
    begunBytes = 0
    return Buffer.from(whole.buffer, whole.byteOffset, whole.length).toString('utf8')
  }
  for await (const chunk of chunks) {
    const lines: string[] = []
    let from = 0
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, from)) {
      lines.push(finish(chunk.subarray(from, at)))
      from = at + 1
    }
    if (lines.length > 0) yield lines
    if (from === chunk.length) continue
    begun.push(chunk.subarray(from))
    begunBytes += chunk.length - from
    if (begunBytes > lineBytesMax) throw tooLong(lineBytesMax)
  }
  if (begunBytes > 0) yield [finish(new Uint8Array())]
}

function tooLong(lineBytesMax: number): HttpRefusal {
  return new HttpRefusal('BODY_TOO_LARGE', `a line has more than ${lineBytesMax} bytes.`)
}
