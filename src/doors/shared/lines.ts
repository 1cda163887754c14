/**
 * A body of any length, line by line. What is kept is one chunk and one unfinished line, which has a limit: a client that never
 * ends its line cannot fill the memory.
 */
const LINE_FEED = 0x0a

export type LineLimit = { readonly lineBytesMax: number; readonly tooLong: () => Error }

/** The lines that each chunk finishes, together, still as bytes. The last line needs no end. */
export async function* linesIn(
  chunks: AsyncIterable<Uint8Array>,
  { lineBytesMax, tooLong }: LineLimit,
): AsyncGenerator<readonly Uint8Array[]> {
  /** The beginning of a line that is not over: in pieces, because a long one comes in many. */
  let begun: Uint8Array[] = []
  let begunBytes = 0
  const finish = (end: Uint8Array): Uint8Array => {
    if (begunBytes + end.length > lineBytesMax) throw tooLong()
    const whole = begun.length === 0 ? end : Buffer.concat([...begun, end])
    begun = []
    begunBytes = 0
    return whole
  }
  for await (const chunk of chunks) {
    const lines: Uint8Array[] = []
    let from = 0
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, from)) {
      lines.push(finish(chunk.subarray(from, at)))
      from = at + 1
    }
    if (lines.length > 0) yield lines
    if (from === chunk.length) continue
    begun.push(chunk.subarray(from))
    begunBytes += chunk.length - from
    if (begunBytes > lineBytesMax) throw tooLong()
  }
  if (begunBytes > 0) yield [finish(new Uint8Array())]
}

/** Nothing but white space of JSON. */
export function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}
