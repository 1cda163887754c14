/**
 * Replies of Redis, read from a stream of bytes that may be cut anywhere (RESP2 and RESP3).
 *
 *   add(bytes), then next() until it is INCOMPLETE
 *
 * What is unfinished lives in three places: lists that still miss entries on a stack, a text that is still arriving,
 * and the beginning of a line. Only the bytes of a line that was cut are looked at twice, so that the cost is linear in
 * the size of a reply, however it arrives.
 *
 * Nothing above knows which protocol was spoken: a value of RESP3 is given as RESP2 would have sent it. A map is a
 * flat list, a set is a list, a double and a big number are texts, true and false are 1 and 0.
 *
 * Whatever is on the other side need not be Redis. Depth, line and reply have a limit; what is announced takes no
 * memory before it arrives; the first byte that does not fit is a ProtocolError, and then the parser is of no use.
 */

/** The replies to our calls have three levels. */
export const DEPTH_MAX = 16
export const LINE_BYTES_MAX = 64 * 1024
/** A claim brings about 4 MiB and one body more; JavaScript has no text of more than 512 MiB. */
export const REPLY_BYTES_MAX = 500 * 1024 * 1024
/** So much is allocated for a text that is announced; more only as it arrives. */
const AHEAD_BYTES = 1024 * 1024

/** No whole reply is there yet. */
export const INCOMPLETE = Symbol('incomplete')
/** A list has begun, or ended inside another one: nothing to hand out. */
const GOES_ON = Symbol('goes on')

/** The server says no; the first word of the message says why: `refusals`. */
export class ErrorReply extends Error {
  override readonly name = 'ErrorReply'
}

/** These bytes are not an answer of Redis, or not one to what was asked. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
}

/** What the server says by itself: a message of a channel, or that a subscription stands. */
export class Push {
  readonly parts: readonly unknown[]

  constructor(parts: readonly unknown[]) {
    this.parts = parts
  }
}

type ListKind = 'list' | 'push' | 'attribute'
type Unfinished = { readonly kind: ListKind; readonly entries: unknown[]; missing: number }

/** A text of known length, with the line break behind it, of which `filled` bytes have come. */
type Arriving = { readonly type: number; readonly total: number; bytes: Buffer; filled: number }

const [CR, LF, MINUS, ZERO, NINE] = [0x0d, 0x0a, 0x2d, 0x30, 0x39]
const TYPE = {
  simple: 0x2b, // +
  error: 0x2d, // -
  integer: 0x3a, // :
  text: 0x24, // $
  list: 0x2a, // *
  null: 0x5f, // _
  double: 0x2c, // ,
  boolean: 0x23, // #
  longError: 0x21, // !
  verbatim: 0x3d, // =
  bigNumber: 0x28, // (
  map: 0x25, // %
  set: 0x7e, // ~
  push: 0x3e, // >
  attribute: 0x7c, // |
} as const
/** What a verbatim text begins with: `txt:`. */
const FORMAT_BYTES = 4
const DIGITS_MAX = 20
/** So many digits can be added up without rounding. */
const DIGITS_EXACT = 15
const NOTHING = Buffer.alloc(0)

export class ReplyParser {
  #data: Buffer = NOTHING
  #at = 0
  /** Behind the line that `#number` read. */
  #lineEnd = 0
  #arriving: Arriving | undefined
  readonly #stack: Unfinished[] = []
  /** How many bytes of the unfinished reply have come. */
  #bytes = 0
  readonly #bytesMax: number

  constructor(bytesMax = REPLY_BYTES_MAX) {
    this.#bytesMax = bytesMax
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length
    const isCut = this.#at < this.#data.length
    this.#data = isCut ? Buffer.concat([this.#data.subarray(this.#at), chunk]) : chunk
    this.#at = 0
  }

  /** The next reply, which may be an `ErrorReply` or a `Push`; INCOMPLETE where its bytes are not all there. */
  next(): unknown {
    for (;;) {
      const value = this.#arriving === undefined ? this.#item() : this.#arrive(this.#arriving)
      if (value === INCOMPLETE) {
        if (this.#bytes > this.#bytesMax)
          throw new ProtocolError(`a reply has more than ${this.#bytesMax} bytes`)
        return INCOMPLETE
      }
      const whole = value === GOES_ON ? GOES_ON : this.#place(value)
      if (whole === GOES_ON) continue
      this.#bytes = this.#data.length - this.#at
      return whole
    }
  }

  /** A value is whole: it is the reply, or one more entry of the innermost list, which may be whole then. */
  #place(value: unknown): unknown {
    let whole = value
    for (;;) {
      const list = this.#stack.at(-1)
      if (list === undefined) return whole
      list.entries.push(whole)
      list.missing -= 1
      if (list.missing > 0) return GOES_ON
      this.#stack.pop()
      // An attribute says something about the value behind it, which was not asked for here.
      if (list.kind === 'attribute') return GOES_ON
      whole = list.kind === 'push' ? new Push(list.entries) : list.entries
    }
  }

  #item(): unknown {
    if (this.#at >= this.#data.length) return INCOMPLETE
    const type = this.#data[this.#at] as number
    switch (type) {
      case TYPE.text:
      case TYPE.verbatim:
      case TYPE.longError:
        return this.#text(type)
      case TYPE.integer:
        return this.#integer()
      case TYPE.list:
      case TYPE.set:
        return this.#list('list', 1)
      case TYPE.map:
        return this.#list('list', 2)
      case TYPE.push:
        return this.#list('push', 1)
      case TYPE.attribute:
        return this.#list('attribute', 2)
      default:
        return this.#line(type)
    }
  }

  #integer(): unknown {
    const value = this.#number()
    if (value !== undefined) this.#at = this.#lineEnd
    return value ?? INCOMPLETE
  }

  #text(type: number): unknown {
    const length = this.#length()
    if (length === undefined) return INCOMPLETE
    const from = this.#lineEnd
    if (length < 0) {
      this.#at = from
      return null
    }
    const end = from + length
    if (end + 2 <= this.#data.length) {
      this.#at = end + 2
      return textOf(type, this.#data, from, end)
    }
    const total = length + 2
    this.#at = from
    this.#arriving = { type, total, bytes: Buffer.allocUnsafe(Math.min(total, AHEAD_BYTES)), filled: 0 }
    return this.#arrive(this.#arriving)
  }

  #arrive(arriving: Arriving): unknown {
    const { type, total, filled } = arriving
    const taken = Math.min(total - filled, this.#data.length - this.#at)
    if (filled + taken > arriving.bytes.length) {
      const larger = Buffer.allocUnsafe(Math.min(total, Math.max(2 * arriving.bytes.length, filled + taken)))
      arriving.bytes.copy(larger, 0, 0, filled)
      arriving.bytes = larger
    }
    this.#data.copy(arriving.bytes, filled, this.#at, this.#at + taken)
    arriving.filled += taken
    this.#at += taken
    if (arriving.filled < total) return INCOMPLETE
    this.#arriving = undefined
    return textOf(type, arriving.bytes, 0, total - 2)
  }

  #list(kind: ListKind, entriesPerCount: number): unknown {
    const count = this.#length()
    if (count === undefined) return INCOMPLETE
    if (this.#stack.length >= DEPTH_MAX)
      throw new ProtocolError(`a reply has lists inside more than ${DEPTH_MAX} lists`)
    if (kind === 'push' && this.#stack.length > 0) throw new ProtocolError('a push stands inside a reply')
    this.#at = this.#lineEnd
    if (count < 0) return null
    if (count > 0) this.#stack.push({ kind, entries: [], missing: count * entriesPerCount })
    else if (kind === 'list') return []
    return GOES_ON
  }

  /** -1 is how RESP2 writes a null. */
  #length(): number | undefined {
    const value = this.#number()
    const isPossible = typeof value === 'number' && value >= -1 && value <= this.#bytesMax
    if (value === undefined || isPossible) return value
    throw new ProtocolError(`a length or count is ${value}`)
  }

  /** The number behind the type; a text where JavaScript would round it. */
  #number(): number | string | undefined {
    const data = this.#data
    const start = this.#at + 1
    const isNegative = data[start] === MINUS
    const first = isNegative ? start + 1 : start
    let at = first
    let value = 0
    for (; at < data.length; at += 1) {
      const byte = data[at] as number
      if (byte < ZERO || byte > NINE) break
      value = value * 10 + byte - ZERO
    }
    if (at - first > DIGITS_MAX) throw new ProtocolError(`a number has more than ${DIGITS_MAX} digits`)
    if (!this.#endsLine(at)) return undefined
    if (at === first) throw new ProtocolError('a number has no digits')
    this.#lineEnd = at + 2
    if (at - first <= DIGITS_EXACT) return isNegative && value > 0 ? -value : value
    const text = data.toString('latin1', start, at)
    return Number.isSafeInteger(Number(text)) ? Number(text) : text
  }

  /** Whether the line break is there; what is there instead is an error. */
  #endsLine(at: number): boolean {
    const [first, second] = [this.#data[at], this.#data[at + 1]]
    if ((first ?? CR) !== CR || (second ?? LF) !== LF) throw unexpected(first === CR ? second : first)
    return second !== undefined
  }

  /** All types that are one line of text. */
  #line(type: number): unknown {
    const read = LINES[type]
    if (read === undefined) throw this.#unknownType(type)
    const start = this.#at + 1
    const found = this.#data.indexOf(CR, start)
    const end = found < 0 ? this.#data.length : found
    if (end - start > LINE_BYTES_MAX) throw new ProtocolError(`a line has more than ${LINE_BYTES_MAX} bytes`)
    if (!this.#endsLine(end)) return INCOMPLETE
    this.#at = end + 2
    return read(this.#data.toString('utf8', start, end))
  }

  #unknownType(type: number): ProtocolError {
    const isHttp = this.#data.toString('latin1', this.#at, this.#at + 5) === 'HTTP/'
    return isHttp ? new ProtocolError('an answer in HTTP') : unexpected(type)
  }
}

const LINES: Readonly<Record<number, (text: string) => unknown>> = {
  [TYPE.simple]: (text) => text,
  [TYPE.error]: (text) => new ErrorReply(text),
  [TYPE.null]: (text) => fitting(text, /^$/) && null,
  [TYPE.double]: (text) => fitting(text, /^[-+]?(?:inf|nan|\d+(?:\.\d*)?(?:e[-+]?\d+)?)$/i) && text,
  [TYPE.boolean]: (text) => (fitting(text, /^[tf]$/) && text === 't' ? 1 : 0),
  [TYPE.bigNumber]: (text) => fitting(text, /^[-+]?\d+$/) && text,
}

function fitting(text: string, pattern: RegExp): true {
  if (pattern.test(text)) return true
  throw new ProtocolError('a value does not fit its type')
}

function textOf(type: number, data: Buffer, from: number, end: number): unknown {
  if (data[end] !== CR || data[end + 1] !== LF) throw unexpected(data[end])
  if (type === TYPE.verbatim) return data.toString('utf8', Math.min(from + FORMAT_BYTES, end), end)
  const text = data.toString('utf8', from, end)
  return type === TYPE.longError ? new ErrorReply(text) : text
}

/** The byte alone: what stands around it may be an echo of what we sent, password and all. */
function unexpected(byte: number | undefined): ProtocolError {
  return new ProtocolError(
    `the byte 0x${(byte ?? 0).toString(16).padStart(2, '0')} where none such may stand`,
  )
}
