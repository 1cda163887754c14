/**
 * The LMDB tree, as far as this engine uses it. The only file that speaks the library's language.
 *
 * Inside a transaction every call sees what the transaction wrote; outside, it sees a snapshot, which `refresh`
 * renews. Ranges are read to their end at once: no cursor stays open while the tree changes, and none pins old
 * pages.
 */
import type { RootDatabase } from 'lmdb'
import { UnavailableError } from '../../core/errors.ts'
import type { Range } from './keys.ts'
import { setLastCommit } from './last-commit.ts'

/** Each time needs another process to open the directory at the very moment of a commit. */
const BEGINS_MAX = 100
/** What LMDB adds to an entry, and rounds it up by, at most. */
const NODE_BYTES = 16

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
  readonly lastTxnId: number
  readonly free: NodeStats
}

export class Tree {
  readonly #directory: string
  readonly #database: RootDatabase<Buffer, Buffer>
  #changes = 0
  #bytes = 0

  constructor(directory: string, database: RootDatabase<Buffer, Buffer>) {
    this.#directory = directory
    this.#database = database
  }

  get(key: Buffer): Buffer | undefined {
    return this.#database.get(key)
  }

  /** What the transaction under way has done so far. */
  get written(): { readonly changes: number; readonly bytes: number } {
    return { changes: this.#changes, bytes: this.#bytes }
  }

  put(key: Buffer, value: Buffer): void {
    this.#changes += 1
    this.#bytes += key.length + value.length + NODE_BYTES
    void this.#database.put(key, value)
  }

  /** False when there was nothing to remove. */
  remove(key: Buffer): boolean {
    this.#changes += 1
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
  async transaction(action: () => void): Promise<void> {
    for (let begins = 0; begins < BEGINS_MAX; begins += 1) {
      let isNewest = false
      await this.#database.childTransaction(() => {
        this.#changes = 0
        this.#bytes = 0
        isNewest = this.#beginsFromNewest()
        if (isNewest) action()
      })
      if (isNewest) return
    }
    throw new UnavailableError(
      'STORE_UNAVAILABLE',
      `${this.#directory} is opened by other processes so often that no write gets through; open it less often.`,
      { value: this.#directory },
    )
  }

  /** Inside a transaction. False: it begins from an older commit than the last, and must not write; the next will not. */
  #beginsFromNewest(): boolean {
    const { lastTxnId } = this.#libraryStats()
    if (this.#database.getWriteTxnId() === lastTxnId + 1) return true
    setLastCommit(this.#directory, lastTxnId)
    return false
  }

  /** Outside transactions: false when what is read here is older than the last commit. */
  isCurrent(): boolean {
    this.refresh()
    const { lastTxnId } = this.#libraryStats()
    return this.#reads()
      .filter(({ pid }) => pid === process.pid)
      .every(({ commit }) => commit >= lastTxnId)
  }

  /** How many commits ago the oldest snapshot was taken that somebody still reads; what was freed since is not free yet. */
  oldestReadAgo(): number {
    const { lastTxnId } = this.#libraryStats()
    return lastTxnId - Math.min(lastTxnId, ...this.#reads().map(({ commit }) => commit))
  }

  stats(): TreeStats {
    const stats = this.#libraryStats()
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

  /** The list has a heading, then a line for each reader: process, thread, and the commit it reads, or a dash. */
  #reads(): { readonly pid: number; readonly commit: number }[] {
    const rows = this.#database.readerList().split('\n')
    return rows
      .map((row) => row.trim().split(/\s+/))
      .map(([pid, , commit]) => ({ pid: Number(pid), commit: Number(commit) }))
      .filter(({ commit }) => Number.isSafeInteger(commit))
  }

  #libraryStats(): LibraryStats {
    return this.#database.getStats() as LibraryStats
  }
}

function pagesOf({ treeBranchPageCount, treeLeafPageCount, overflowPages }: NodeStats): number {
  return treeBranchPageCount + treeLeafPageCount + overflowPages
}
