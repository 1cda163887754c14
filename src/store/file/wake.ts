/**
 * Waking sleepers: one small file per queue, which the waker's thread writes to and the sleepers of all processes watch.
 *
 * The operating system delivers the news (inotify on Linux), so nobody polls, nobody keeps a list of processes, and
 * a dead process leaves nothing behind. Sleepers of this process are called directly; the echo of our own write
 * makes them look once more than needed, which costs a read.
 *
 * A watch that cannot be had or breaks is no error: wake-ups are hints, and a sleeper looks again on its own.
 */
import { closeSync, openSync, watch, writeSync, type FSWatcher } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import type { Logger } from '../../core/log.ts'

/** Two queues may share a file: each then hears of the other's messages too, and looks in vain. */
function bellPath(directory: string, queue: string): string {
  return path.join(directory, `wake-${crc32(queue).toString(16)}`)
}

const bells = new Map<string, number>()

/** Wakes who watches, in all processes. */
export function ringBell(directory: string, queue: string): void {
  const file = bellPath(directory, queue)
  try {
    let descriptor = bells.get(file)
    if (descriptor === undefined) bells.set(file, (descriptor = openSync(file, 'a+')))
    writeSync(descriptor, '!', 0)
  } catch {
    // A hint that is lost costs a sleeper its fallback interval; the message itself is stored.
    bells.delete(file)
  }
}

/** Of the stores of this thread, when they close. */
export function closeBells(): void {
  for (const descriptor of bells.values()) closeSync(descriptor)
  bells.clear()
}

type WakeListener = { readonly call: () => void; readonly owner: string | undefined }

export class WakeChannel {
  readonly #path: string
  readonly #queue: string
  readonly #logger: Logger
  readonly #listeners = new Set<WakeListener>()
  #watcher: FSWatcher | undefined

  constructor(directory: string, queue: string, logger: Logger) {
    this.#path = bellPath(directory, queue)
    this.#queue = queue
    this.#logger = logger
    try {
      closeSync(openSync(this.#path, 'a'))
      this.#watcher = watch(this.#path, { persistent: false }, () => this.#callListeners(undefined))
      this.#watcher.on('error', (error) => this.#lostWatch(error))
    } catch (error) {
      this.#lostWatch(error)
    }
  }

  get isWatching(): boolean {
    return this.#watcher !== undefined
  }

  /** `owner`: what it gave back itself need not wake it. */
  listen(call: () => void, owner: string | undefined): () => void {
    const listener = { call, owner }
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** A wake-up of this process's own thread. */
  hear(queue: string, giver: string | undefined): void {
    if (queue === this.#queue) this.#callListeners(giver)
  }

  close(): void {
    this.#watcher?.close()
    this.#watcher = undefined
    this.#listeners.clear()
  }

  #callListeners(giver: string | undefined): void {
    for (const { call, owner } of this.#listeners) if (giver === undefined || owner !== giver) call()
  }

  #lostWatch(error: unknown): void {
    this.#watcher?.close()
    this.#watcher = undefined
    this.#logger.warn(
      `${this.#path} cannot be watched, so messages from other processes may be late: ${String(error)}`,
    )
  }
}
