/**
 * Commands as Redis reads them: each a list of texts, each text behind its length in bytes.
 *
 * Written straight into buffers: beside texts that are joined and encoded by the socket this takes two thirds of the
 * time for a batch of 500 messages and the same for one (docs/decisions/0014), and there is no largest text to run
 * into. A buffer is as long as the commands need when all their characters are ASCII; what needs more goes on in the
 * next one.
 */

/** Commands are spread over buffers of this size; a longer text has one of its own. */
const BUFFER_BYTES_MAX = 1024 * 1024
/** `$`, the length and two line breaks. */
const FRAME_BYTES = 16
/** Up to here, writing characters one by one is faster than a call that leaves JavaScript. */
const SHORT = 24
const [CR, LF, DOLLAR, STAR, ZERO, ASCII_MAX] = [0x0d, 0x0a, 0x24, 0x2a, 0x30, 0x7f]

/** As many bytes as the command needs, if all of it is ASCII. */
export function asciiBytes(command: readonly string[]): number {
  let bytes = FRAME_BYTES
  for (const part of command) bytes += part.length + FRAME_BYTES
  return bytes
}

/** `bytes`: what `asciiBytes` says about all of them. */
export function encodeCommands(commands: readonly (readonly string[])[], bytes: number): Buffer[] {
  const pages = new Pages(bytes)
  for (const command of commands) {
    pages.header(STAR, command.length)
    for (const part of command) if (part.length > SHORT || !pages.short(part)) pages.text(part)
  }
  return pages.finish()
}

class Pages {
  readonly #full: Buffer[] = []
  #page: Buffer
  #at = 0

  constructor(bytes: number) {
    this.#page = Buffer.allocUnsafe(Math.min(bytes, BUFFER_BYTES_MAX))
  }

  header(type: number, value: number): void {
    this.#reserve(FRAME_BYTES)
    const page = this.#page
    page[this.#at] = type
    const end = this.#at + 1 + digitsOf(value)
    let rest = value
    for (let at = end - 1; at > this.#at; at -= 1) {
      page[at] = ZERO + (rest % 10)
      rest = Math.floor(rest / 10)
    }
    page[end] = CR
    page[end + 1] = LF
    this.#at = end + 2
  }

  /** Writes it if it is ASCII; says whether it was. */
  short(part: string): boolean {
    this.#reserve(part.length + FRAME_BYTES)
    const before = this.#at
    this.header(DOLLAR, part.length)
    const page = this.#page
    let at = this.#at
    for (let i = 0; i < part.length; i += 1) {
      const code = part.charCodeAt(i)
      if (code > ASCII_MAX) {
        this.#at = before
        return false
      }
      page[at] = code
      at += 1
    }
    page[at] = CR
    page[at + 1] = LF
    this.#at = at + 2
    return true
  }

  text(part: string): void {
    const bytes = Buffer.byteLength(part)
    this.#reserve(bytes + FRAME_BYTES)
    this.header(DOLLAR, bytes)
    const page = this.#page
    const at = this.#at + page.write(part, this.#at, bytes, bytes === part.length ? 'latin1' : 'utf8')
    page[at] = CR
    page[at + 1] = LF
    this.#at = at + 2
  }

  finish(): Buffer[] {
    this.#turn(0)
    return this.#full
  }

  #reserve(bytes: number): void {
    const room = this.#page.length
    if (this.#at + bytes > room) this.#turn(Math.max(bytes, Math.min(2 * room, BUFFER_BYTES_MAX)))
  }

  #turn(nextBytes: number): void {
    if (this.#at > 0) this.#full.push(this.#page.subarray(0, this.#at))
    this.#page = Buffer.allocUnsafe(nextBytes)
    this.#at = 0
  }
}

function digitsOf(value: number): number {
  let digits = 1
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) digits += 1
  return digits
}
