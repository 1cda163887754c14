// A log that survives its writer: whole lines of JSON, handed to the operating system at once, and on the disk before
// the writer goes on. A kill can tear the last line; `chaos/logs.ts` reads around that.
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'

export class Log {
  #file
  #later = []

  constructor(path) {
    this.#file = openSync(path, 'a')
  }

  write(...lines) {
    const all = [...this.#later, ...lines.map((line) => ({ at: Date.now(), ...line }))]
    this.#later = []
    writeSync(this.#file, all.map((line) => `${JSON.stringify(line)}\n`).join(''))
    fdatasyncSync(this.#file)
  }

  /** Writes at the end of this turn, together with the turn's other lines: for lines that no later step depends on. */
  writeSoon(line) {
    this.#later.push({ at: Date.now(), ...line })
    if (this.#later.length === 1) setImmediate(() => this.#later.length > 0 && this.write())
  }

  close() {
    this.write()
    closeSync(this.#file)
  }
}
