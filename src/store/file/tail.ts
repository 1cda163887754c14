/**
 * The end of the data file. A file that ends before its last page was cut, and reading what is gone would end the
 * process, so such a file is not opened. But LMDB need not write pages that were freed before they were ever used,
 * and a file that ends with such pages would look cut. So we keep the file a little longer than it must be:
 *
 *   pages in use ... last page │ ahead: a hole that takes no room on the disk │ end of file
 *
 * Done inside a transaction, under the write lock: nobody else is changing the length then.
 */
import { statSync, truncateSync } from 'node:fs'
import path from 'node:path'
import { DATA_FILE, dataBytes } from './directory.ts'
import { readHead } from './head.ts'
import { corrupt } from './seal.ts'
import type { Tree } from './tree.ts'

const AHEAD_BYTES = 4 * 1024 * 1024

export class Tail {
  readonly #file: string
  readonly #tree: Tree
  /** The file is at least this long. */
  #bytes = 0

  constructor(directory: string, tree: Tree) {
    this.#file = path.join(directory, DATA_FILE)
    this.#tree = tree
  }

  /** Called in every transaction, before it commits. */
  keepAhead(): void {
    const { pages, pageBytes } = this.#tree.stats()
    const wanted = pages * pageBytes + AHEAD_BYTES
    if (this.#bytes >= wanted) return
    this.#bytes = statSync(this.#file).size
    if (this.#bytes >= wanted) return
    this.#bytes = wanted + AHEAD_BYTES
    truncateSync(this.#file, this.#bytes)
    // Perhaps it grows only because a process was killed while it read, which keeps every page freed since.
    this.#tree.dropStaleReaders()
  }
}

export async function checkTail(directory: string): Promise<void> {
  const file = path.join(directory, DATA_FILE)
  const { expectedBytes } = await readHead(file)
  const bytes = await dataBytes(directory)
  if (bytes < expectedBytes) throw corrupt(`${file} has ${bytes} bytes and should have ${expectedBytes}`)
}
