/**
 * The end of the data file. LMDB must not find the disk full while it commits: it then writes its error text beyond
 * the memory it took for it, and the process may crash at any time after. So the room that a commit can need is
 * there before it begins to write: zeros behind the last page, which it overwrites.
 *
 *   pages in use ... last page │ ahead: zeros, with real blocks of the disk │ end of file
 *
 * It also keeps the file longer than its last page, although LMDB need not write pages that were freed before they
 * were ever used. A file that ends before its last page was cut, and reading what is gone would end the process, so
 * such a file is not opened.
 *
 * Cost: each page is written once more when the file grows, and a few megabytes are kept. Done inside a transaction,
 * under the write lock: nobody else uses what is behind the last page then. If the disk is full here, the transaction
 * is taken back in good order. The file is never made shorter.
 */
import { closeSync, openSync, statSync, writeSync } from 'node:fs'
import path from 'node:path'
import { DATA_FILE, dataBytes } from './directory.ts'
import { readHead } from './head.ts'
import { corrupt } from './seal.ts'
import type { Tree } from './tree.ts'

const AHEAD_BYTES = 2 * 1024 * 1024
const ZEROS = Buffer.alloc(1024 * 1024)
/** For the pages that point to others, and those that list what is free. */
const PAGES_BESIDES = 64

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
    const { pages, usedPages, pageBytes } = this.#tree.stats()
    const needed = this.#neededPages(usedPages, pageBytes)
    const wanted = pages * pageBytes + Math.max(AHEAD_BYTES, needed * pageBytes)
    if (this.#bytes >= wanted) return
    this.#bytes = statSync(this.#file).size
    if (this.#bytes >= wanted) return
    // Perhaps it grows only because a process was killed while it read, which keeps every page freed since.
    this.#tree.dropStaleReaders()
    try {
      this.#grow(wanted + ZEROS.length)
    } catch (error) {
      // On a full disk those who make room must go on with what the file has left, ahead and inside. What a large
      // commit needs is only known from above, so it may try.
      const ahead = Math.floor(this.#bytes / pageBytes) - pages
      // Less than none if the transaction put more than was free.
      const inside = pages - usedPages
      const kept = this.#tree.oldestReadAgo() * needed
      const left = ahead + Math.min(inside, Math.max(0, inside - kept))
      if (left * pageBytes < Math.min(needed * pageBytes, AHEAD_BYTES)) throw error
    }
  }

  /** At most: each change copies a page, if there are as many, and what is put fills pages at least by half. */
  #neededPages(usedPages: number, pageBytes: number): number {
    const { changes, bytes } = this.#tree.written
    return Math.min(changes, usedPages) + Math.ceil((2 * bytes) / pageBytes) + PAGES_BESIDES
  }

  #grow(bytes: number): void {
    const descriptor = openSync(this.#file, 'r+')
    try {
      while (this.#bytes < bytes) {
        const size = Math.min(ZEROS.length, bytes - this.#bytes)
        this.#bytes += writeSync(descriptor, ZEROS, 0, size, this.#bytes)
      }
    } finally {
      closeSync(descriptor)
    }
  }
}

export async function checkTail(directory: string): Promise<void> {
  const file = path.join(directory, DATA_FILE)
  const { expectedBytes } = await readHead(file)
  const bytes = await dataBytes(directory)
  if (bytes < expectedBytes) throw corrupt(`${file} has ${bytes} bytes and should have ${expectedBytes}`)
}
