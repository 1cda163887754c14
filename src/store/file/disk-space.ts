/**
 * Space on the disk. A file of zeros lies beside the store. When the disk is full, it is given up, and those who make
 * room (workers that claim, complete, cancel) go on in it; new messages are refused until it is whole again. So a full
 * disk stops the producers, and the workers drain the store.
 *
 * Anyone of the processes may give it up and make it again: what counts is how large the file is.
 */
import { closeSync, openSync, statSync, statfsSync, truncateSync, writeSync } from 'node:fs'
import path from 'node:path'
import { systemClock } from '../../clock.ts'
import { fullError } from './failure.ts'

const RESERVE_FILE = 'reserve'
const RESERVE_BYTES = 4 * 1024 * 1024
/** On a small volume the reserve is a share of it. */
const RESERVE_SHARE = 1 / 8
/** Looking costs a few system calls, so it is done when this much was admitted, or after this time. */
const LOOK_AGAIN_BYTES = 512 * 1024
const LOOK_AGAIN_MS = 1000
/** What a message costs besides its texts. */
const OVERHEAD_BYTES = 300

export class DiskSpace {
  readonly #directory: string
  readonly #file: string
  #admittedBytes = 0
  #lookedAt = -Infinity
  #isFull = false

  constructor(directory: string) {
    this.#directory = directory
    this.#file = path.join(directory, RESERVE_FILE)
  }

  /** Throws STORE_FULL while the reserve is not whole and cannot be made whole. */
  admit(entries: number, bytes: number): void {
    if (!this.hasRoomFor(entries, bytes)) throw fullError(this.#directory)
  }

  hasRoomFor(entries: number, bytes: number): boolean {
    this.#admittedBytes += bytes + entries * OVERHEAD_BYTES
    const isStale = systemClock.monotonic() - this.#lookedAt > LOOK_AGAIN_MS
    if (this.#isFull || isStale || this.#admittedBytes > LOOK_AGAIN_BYTES) this.#look()
    return !this.#isFull
  }

  /** True if there was something to give up. */
  giveUp(): boolean {
    this.#isFull = true
    if (this.#size() === 0) return false
    truncateSync(this.#file, 0)
    return true
  }

  #look(): void {
    this.#admittedBytes = 0
    this.#lookedAt = systemClock.monotonic()
    const { bavail, bsize, blocks } = statfsSync(this.#directory)
    const wanted = Math.min(RESERVE_BYTES, Math.floor(blocks * bsize * RESERVE_SHARE))
    const missing = wanted - this.#size()
    // Making it again must leave room to work in, or it would be given up at once.
    this.#isFull = missing > 0 && (bavail * bsize < 2 * missing || !this.#make(wanted))
  }

  #size(): number {
    return statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0
  }

  /** Written, not only declared: a hole in a file reserves nothing. */
  #make(bytes: number): boolean {
    try {
      const descriptor = openSync(this.#file, 'w')
      try {
        writeSync(descriptor, Buffer.alloc(bytes))
      } finally {
        closeSync(descriptor)
      }
      return true
    } catch {
      this.giveUp()
      return false
    }
  }
}
