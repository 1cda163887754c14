/**
 * Waking sleepers: one small file per queue, which the waker's thread writes to and the sleepers of all processes watch.
 *
 * The operating system delivers the news (inotify on Linux), so no process polls, none keeps a list of the others, and
 * a dead process leaves nothing behind. Sleepers of this process are called directly; the echo of our own write
 * makes them look once more than needed, which costs a read.
 *
 * The system says only that the file was written. What kind of wake-up it was stands in the file: each kind but `due` has a
 * byte of its own there, which a ring counts up. Two rings at once may count as one, and are still a change.
 *
 * A watch that cannot be had or breaks is no error: wake-ups are hints, and a sleeper looks again on its own.
 */
import { closeSync, openSync, readSync, watch, writeSync, type FSWatcher } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import type { Logger } from '../../core/log.ts'
import { WAKE_KINDS, type WakeUp } from '../../core/machines/sleep.ts'
import type { Wake } from '../thread/protocol.ts'

/** Two queues may share a file: each then hears of the other's messages too, and looks in vain. */
function bellPath(directory: string, queue: string): string {
  return path.join(directory, `wake-${crc32(queue).toString(16)}`)
}

const bells = new Map<string, number>()

/** Wakes who watches, in all processes. */
export function ringBell(directory: string, { queue, kind }: Wake): void {
  const file = bellPath(directory, queue)
  try {
    let descriptor = bells.get(file)
    if (descriptor === undefined) {
      closeSync(openSync(file, 'a'))
      bells.set(file, (descriptor = openSync(file, 'r+')))
    }
    const place = WAKE_KINDS.indexOf(kind)
    const count = place === 0 ? 0 : (readBell(descriptor)[place] ?? 0)
    writeSync(descriptor, Uint8Array.of(count + 1), 0, 1, place)
  } catch {
    // On a full disk, say. A hint that is lost costs a sleeper its fallback interval; the message itself is stored.
    dropBell(file)
  }
}

function dropBell(file: string): void {
  const descriptor = bells.get(file)
  if (descriptor !== undefined) closeSync(descriptor)
  bells.delete(file)
}

/** A byte for each kind; 0 where none was written. */
function readBell(descriptor: number): Uint8Array {
  const bytes = new Uint8Array(WAKE_KINDS.length)
  readSync(descriptor, bytes, 0, bytes.length, 0)
  return bytes
}

/** Of the stores of this thread, when they close. */
export function closeBells(): void {
  for (const file of bells.keys()) dropBell(file)
}

type WakeListener = { readonly call: (wake: WakeUp) => void; readonly owner: string | undefined }

export class WakeChannel {
  readonly #path: string
  readonly #queue: string
  readonly #logger: Logger
  readonly #listeners = new Set<WakeListener>()
  #watcher: FSWatcher | undefined
  #descriptor: number | undefined
  /** What the bell said when it was read last. */
  #seen: Uint8Array

  constructor(directory: string, queue: string, logger: Logger) {
    this.#path = bellPath(directory, queue)
    this.#queue = queue
    this.#logger = logger
    this.#seen = new Uint8Array(WAKE_KINDS.length)
    try {
      closeSync(openSync(this.#path, 'a'))
      this.#descriptor = openSync(this.#path, 'r')
      this.#watcher = watch(this.#path, { persistent: false }, () => this.#look())
      this.#seen = readBell(this.#descriptor)
      this.#watcher.on('error', (error) => this.#lostWatch(error))
    } catch (error) {
      this.#lostWatch(error)
    }
  }

  get isWatching(): boolean {
    return this.#watcher !== undefined
  }

  /** `owner`: what it gave back itself need not wake it. */
  listen(call: (wake: WakeUp) => void, owner: string | undefined): () => void {
    const listener = { call, owner }
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** A wake-up of this process's own thread. */
  hear({ queue, kind, giver }: Wake): void {
    if (queue === this.#queue) this.#callListeners({ kind }, giver)
  }

  close(): void {
    this.#endWatch()
    this.#listeners.clear()
  }

  /** The bell was rung, by this process or another. */
  #look(): void {
    if (this.#descriptor === undefined) return
    const before = this.#seen
    this.#seen = readBell(this.#descriptor)
    const kinds = WAKE_KINDS.filter((kind, place) => kind !== 'due' && this.#seen[place] !== before[place])
    for (const kind of kinds) this.#callListeners({ kind })
    if (!kinds.includes('controls')) this.#callListeners({ kind: 'due' })
  }

  #callListeners(wake: WakeUp, giver?: string): void {
    for (const { call, owner } of this.#listeners) if (giver === undefined || owner !== giver) call(wake)
  }

  #endWatch(): void {
    this.#watcher?.close()
    this.#watcher = undefined
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  #lostWatch(error: unknown): void {
    this.#endWatch()
    this.#logger.warn(
      `${this.#path} cannot be watched, so messages from other processes may be late: ${String(error)}`,
    )
  }
}
