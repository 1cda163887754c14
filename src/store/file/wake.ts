/**
 * Waking sleepers in other processes: one small file per queue, which the waker writes to and the sleepers watch.
 *
 * The operating system delivers the news (inotify on Linux), so nobody polls, nobody keeps a list of processes, and
 * a dead process leaves nothing behind. Sleepers of this process are called directly; the echo of our own write
 * makes them look once more than needed, which costs a read.
 *
 * A watch that cannot be had or breaks is no error: wake-ups are hints, and whoever sleeps looks again on his own.
 */
import { constants, watch, type FSWatcher } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import type { Logger } from '../../core/log.ts'

const NOTE = Buffer.from('!')

export class WakeChannel {
  readonly #path: string
  readonly #logger: Logger
  readonly #listeners = new Set<() => void>()
  #file: FileHandle | undefined
  #watcher: FSWatcher | undefined
  #writing: Promise<void> | undefined
  #mustWriteAgain = false

  constructor(path: string, logger: Logger) {
    this.#path = path
    this.#logger = logger
  }

  async open(): Promise<void> {
    this.#file = await open(this.#path, constants.O_RDWR | constants.O_CREAT)
    try {
      this.#watcher = watch(this.#path, { persistent: false }, () => this.#callListeners())
      this.#watcher.on('error', (error) => this.#lostWatch(error))
    } catch (error) {
      this.#lostWatch(error)
    }
  }

  get isWatching(): boolean {
    return this.#watcher !== undefined
  }

  listen(listener: () => void): () => void {
    // Wrapped, so that the same function given twice is two listeners.
    const entry = (): void => listener()
    this.#listeners.add(entry)
    return () => void this.#listeners.delete(entry)
  }

  /** Wakes whoever listens, here and elsewhere. Wake-ups that come while one is being written share the next. */
  wake(): void {
    this.#callListeners()
    this.#mustWriteAgain = true
    this.#writing ??= this.#write()
  }

  async close(): Promise<void> {
    this.#watcher?.close()
    this.#watcher = undefined
    this.#listeners.clear()
    await this.#writing
    await this.#file?.close()
    this.#file = undefined
  }

  async #write(): Promise<void> {
    try {
      while (this.#mustWriteAgain) {
        this.#mustWriteAgain = false
        await this.#file?.write(NOTE, 0, NOTE.length, 0)
      }
    } catch (error) {
      this.#logger.warn(`other processes were not woken: writing to ${this.#path} failed: ${String(error)}`)
    } finally {
      this.#writing = undefined
    }
  }

  #callListeners(): void {
    for (const listener of this.#listeners) listener()
  }

  #lostWatch(error: unknown): void {
    this.#watcher?.close()
    this.#watcher = undefined
    this.#logger.warn(
      `${this.#path} cannot be watched, so messages from other processes may be late: ${String(error)}`,
    )
  }
}
