/**
 * Group commit. Calls made while a commit is on its way to the disk wait together and share the next one, so the
 * busier the store, the fewer syncs per message; a lone call waits for nobody.
 *
 *   calls        a  b c d        e f          (c, d and b arrive while a commits)
 *   commits     [a────]  [b c d────]  [e f────]
 *
 * Each job reads and writes the tree inside the shared transaction. If one of them throws, the whole transaction
 * is taken back and its jobs run again one by one, so that only the guilty one fails: a call is atomic although
 * it shares its commit.
 *
 * Jobs run on the event loop (they are JavaScript), the waiting for the lock and for the disk happens on another
 * thread. Danger: between the moment the transaction begins and the moment the event loop is free to run its
 * jobs, this process holds the write lock of the directory. A handler that blocks the loop for a second makes the
 * other processes wait as long.
 */
import { UnavailableError, type PunctualError } from '../../core/errors.ts'
import { Ledger } from './ledger.ts'
import type { Tree } from './tree.ts'

/** A group with more entries than this is closed, so that one transaction never keeps the event loop for long. */
const GROUP_ENTRIES_MAX = 2000

type Job = {
  readonly entries: number
  readonly run: (ledger: Ledger) => void
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export type CommitterOptions = {
  readonly tree: Tree
  /** Called in every transaction, when all its jobs are done. */
  readonly beforeCommit: () => void
  /** Turns whatever the library threw into one of our errors. */
  readonly explain: (error: unknown) => Promise<PunctualError>
  /** Told after each commit which queues have something due sooner than before. */
  readonly onWakes: (queues: ReadonlySet<number>) => void
}

export class Committer {
  readonly #options: CommitterOptions
  #waiting: Job[] = []
  #draining: Promise<void> | undefined
  #closed = false

  constructor(options: CommitterOptions) {
    this.#options = options
  }

  /** Runs `action` in the next transaction; resolves with its result once that is on the disk. */
  commit<T>(entries: number, action: (ledger: Ledger) => T): Promise<T> {
    if (this.#closed) return Promise.reject(closedError())
    return new Promise<T>((resolve, reject) => {
      let result: T
      this.#waiting.push({
        entries,
        run: (ledger) => void (result = action(ledger)),
        resolve: () => resolve(result),
        reject,
      })
      this.#draining ??= this.#drain()
    })
  }

  /** Refuses new calls; resolves when those under way are finished. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#draining
  }

  /** Gives up on calls that wait for a transaction. */
  abandon(): void {
    this.#closed = true
    for (const job of this.#waiting.splice(0)) job.reject(closedError())
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) await this.#commitGroup()
    this.#draining = undefined
  }

  async #commitGroup(): Promise<void> {
    let group: Job[] = []
    let isWritten = false
    try {
      await this.#transact((ledger) => {
        // The group is formed inside: whoever comes before the lock is ours still gets a seat.
        group = this.#nextGroup()
        for (const job of group) job.run(ledger)
        ledger.close()
        isWritten = true
      })
      for (const job of group) job.resolve()
    } catch (error) {
      // Once all is written, what fails is the disk, and it fails for all of them.
      if (group.length > 1 && !isWritten) await this.#commitEach(group)
      else await this.#fail(group, error)
    }
  }

  async #commitEach(group: readonly Job[]): Promise<void> {
    for (const job of group) {
      try {
        await this.#transact((ledger) => {
          job.run(ledger)
          ledger.close()
        })
        job.resolve()
      } catch (error) {
        await this.#fail([job], error)
      }
    }
  }

  async #transact(run: (ledger: Ledger) => void): Promise<void> {
    const { tree, beforeCommit, onWakes } = this.#options
    let wakes: ReadonlySet<number> = new Set()
    await tree.transaction(() => {
      const ledger = new Ledger(tree)
      run(ledger)
      beforeCommit()
      wakes = ledger.wakes
    })
    if (wakes.size > 0) onWakes(wakes)
  }

  #nextGroup(): Job[] {
    let entries = 0
    let size = 0
    for (const job of this.#waiting) {
      if (size > 0 && entries + job.entries > GROUP_ENTRIES_MAX) break
      entries += job.entries
      size += 1
    }
    return this.#waiting.splice(0, size)
  }

  async #fail(group: readonly Job[], error: unknown): Promise<void> {
    const explained = await this.#options.explain(error)
    // A transaction that could not even begin has formed no group; those who wait must hear of it all the same.
    const failed = group.length > 0 ? group : this.#waiting.splice(0)
    for (const job of failed) job.reject(explained)
  }
}

export function closedError(): UnavailableError {
  return new UnavailableError('STORE_CLOSED', 'the file store is closed; open a new queue.')
}
