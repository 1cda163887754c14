/** A request as the handlers see it, whichever shell it came through. */
import { UsageError } from '../../../core/errors.ts'
import { HttpRefusal } from './problem.ts'

export type HttpRequest = {
  readonly method: string
  /** Still encoded, without the query. */
  readonly path: string
  /** Without the question mark. */
  readonly search: string
  /** Where it comes from, as the connection says; '' where that cannot be known. */
  readonly address: string
  /** By a name in small letters. */
  header(name: string): string | undefined
  /** Rejects with BODY_TOO_LARGE, the rest is then not read; or with ENCODING_INVALID. */
  readBody(bytesMax: number): Promise<string>
  /** The body piece by piece, instead of `readBody`; rejects when it ends half-way. */
  chunks(): AsyncIterable<Uint8Array>
  /** Tells when the client has gone before it was answered, at once if it has by now; and when its server closes. */
  whenGone(tell: () => void): void
  /** What the host application knows of it, for `access`. */
  readonly original: unknown
}

const PLAIN_HEADER = /^[\x20-\x7e\t]*$/

/** The text in a header of ours, where characters beyond ASCII come percent-encoded. Throws ENCODING_INVALID. */
export function headerText(request: HttpRequest, name: string): string | undefined {
  const value = request.header(name)
  return value === undefined ? undefined : fromPercent(value, `the header ${name}`)
}

/** The value of a header that is taken as it is. Node reads its bytes as Latin-1, which would store other characters. */
export function asciiHeader(request: HttpRequest, name: string): string | undefined {
  const value = request.header(name)
  if (value === undefined || PLAIN_HEADER.test(value)) return value
  throw new UsageError('ENCODING_INVALID', `the header ${name} has characters beyond ASCII.`, { value })
}

/** Text whose bytes beyond ASCII are percent-encoded UTF-8. */
export function fromPercent(value: string, name: string): string {
  try {
    if (PLAIN_HEADER.test(value)) return value.includes('%') ? decodeURIComponent(value) : value
  } catch {
    // Said below.
  }
  throw new UsageError(
    'ENCODING_INVALID',
    `${name} is not percent-encoded UTF-8: write é as %C3%A9, and % as %25.`,
    {
      value,
    },
  )
}

const JSON_TYPE = /^application\/json\s*(?:;|$)/i

export function isJsonType(contentType: string | undefined): boolean {
  return contentType !== undefined && JSON_TYPE.test(contentType)
}

/** Deeper than this, JSON is refused: what reads it later may not bear it. */
const DEPTH_MAX = 100
const OPENING = new Set(['[', '{'].map((char) => char.charCodeAt(0)))
const CLOSING = new Set([']', '}'].map((char) => char.charCodeAt(0)))
const QUOTE = '"'.charCodeAt(0)
const BACKSLASH = '\\'.charCodeAt(0)

/** Rejects what is not JSON, or nested too deeply. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new HttpRefusal('BODY_INVALID', 'the body is nested more than 100 levels deep.')
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    const why = error instanceof SyntaxError ? error.message.replace(/, ".*/s, '') : 'unreadable'
    throw new HttpRefusal('BODY_INVALID', `the body is not JSON: ${why}.`)
  }
}

/** Whether brackets stand deeper inside each other than is allowed. */
function isTooDeep(text: string): boolean {
  // Most texts do not have that many brackets at all.
  if (text.length < DEPTH_MAX * 2 || count(text, '{') + count(text, '[') <= DEPTH_MAX) return false
  let depth = 0
  let isInText = false
  for (let i = 0; i < text.length; i += 1) {
    const char = text.charCodeAt(i)
    if (isInText) {
      if (char === BACKSLASH) i += 1
      else if (char === QUOTE) isInText = false
    } else if (char === QUOTE) isInText = true
    else if (OPENING.has(char)) {
      depth += 1
      if (depth > DEPTH_MAX) return true
    } else if (CLOSING.has(char)) depth -= 1
  }
  return false
}

/** How often the text has this character; no more than can matter is counted. */
function count(text: string, char: string): number {
  let found = 0
  for (let at = text.indexOf(char); at !== -1 && found <= DEPTH_MAX; at = text.indexOf(char, at + 1))
    found += 1
  return found
}
