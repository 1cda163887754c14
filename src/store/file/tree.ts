/**
 * The LMDB tree, as far as this engine uses it. The only file that speaks the library's language.
 *
 * Inside a transaction every call sees what the transaction wrote; outside, it sees a snapshot, which `refresh`
 * renews. Ranges are read to their end at once: no cursor stays open while the tree changes, and none pins old
 * pages.
 */
import type { RootDatabase } from 'lmdb'
import type { Range } from './keys.ts'

export type Entry = { readonly key: Buffer; readonly value: Buffer }

export type TreeStats = {
  readonly pageBytes: number
  /** Pages that the file has room for, used or not. */
  readonly pages: number
  /** Pages in use by the tree and by the list of free pages. */
  readonly usedPages: number
}

type NodeStats = {
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}

type LibraryStats = NodeStats & {
  readonly pageSize: number
  readonly lastPageNumber: number
  readonly free: NodeStats
}

export class Tree {
  readonly #database: RootDatabase<Buffer, Buffer>

  constructor(database: RootDatabase<Buffer, Buffer>) {
    this.#database = database
  }

  get(key: Buffer): Buffer | undefined {
    return this.#database.get(key)
  }

  put(key: Buffer, value: Buffer): void {
    void this.#database.put(key, value)
  }

  /** False when there was nothing to remove. */
  remove(key: Buffer): boolean {
    return this.#database.removeSync(key)
  }

  entries({ start, end }: Range, limit: number): Entry[] {
    return [...this.#database.getRange({ start, end, limit })]
  }

  keys({ start, end }: Range, limit: number): Buffer[] {
    return [...this.#database.getKeys({ start, end, limit })]
  }

  firstKey(range: Range): Buffer | undefined {
    return this.keys(range, 1)[0]
  }

  /** How many keys a range has, at most `limit`. */
  count({ start, end }: Range, limit: number): number {
    return this.#database.getKeysCount({ start, end, limit })
  }

  /** Outside transactions: what follows sees all that any process has committed by now. */
  refresh(): void {
    this.#database.resetReadTxn()
  }

  /**
   * Runs `action` in a transaction; resolves once it is on the disk. If `action` throws, nothing of it is kept.
   * The library waits for the other processes and for the disk on a thread of its own.
   */
  transaction(action: () => void): Promise<void> {
    return this.#database.childTransaction(action)
  }

  stats(): TreeStats {
    const stats = this.#database.getStats() as LibraryStats
    return {
      pageBytes: stats.pageSize,
      pages: stats.lastPageNumber + 1,
      usedPages: pagesOf(stats) + pagesOf(stats.free),
    }
  }

  /** Forgets readers whose process is dead: they would keep old pages from being used again. */
  dropStaleReaders(): number {
    return this.#database.readerCheck()
  }

  copyTo(directory: string): Promise<void> {
    return this.#database.backup(directory, true)
  }

  close(): Promise<void> {
    return this.#database.close()
  }
}

function pagesOf({ treeBranchPageCount, treeLeafPageCount, overflowPages }: NodeStats): number {
  return treeBranchPageCount + treeLeafPageCount + overflowPages
}
