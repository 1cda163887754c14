/**
 * Room on the disk. New messages are refused while there is still a little room left: without it the messages that
 * are there could be neither claimed nor completed, because every change is written beside the old state before
 * that is given up. So a full disk stops the producers, and the workers drain it.
 *
 * Room is what the disk has free plus what the file itself has free: pages of completed messages are used again.
 */
import { statSync, statfsSync } from 'node:fs'
import path from 'node:path'
import type { Clock } from '../../clock.ts'
import type { NewMessage } from '../contract/store.ts'
import { DATA_FILE } from './directory.ts'
import type { Environment } from './environment.ts'
import { fullError } from './failure.ts'

const RESERVE_BYTES = 16 * 1024 * 1024
/** On a small volume the reserve is a share of it. */
const RESERVE_SHARE = 1 / 4
/** Looking costs a system call, so it is done when this share of the reserve may be gone, or after this time. */
const LOOK_AGAIN_SHARE = 1 / 16
const LOOK_AGAIN_MS = 1000
/** What a message costs besides its texts. */
const OVERHEAD_BYTES = 200

export class Room {
  readonly #environment: Environment
  readonly #clock: Clock
  #admittedBytes = 0
  #lookAgainBytes = 0
  #lookedAt = 0
  #isFull = false

  constructor(environment: Environment, clock: Clock) {
    this.#environment = environment
    this.#clock = clock
  }

  /** Throws STORE_FULL when these messages would eat into the reserve. */
  admit(messages: readonly NewMessage[]): void {
    for (const { body } of messages) this.#admittedBytes += body.length + OVERHEAD_BYTES
    const isStale = this.#clock.monotonic() - this.#lookedAt > LOOK_AGAIN_MS
    if (this.#isFull || isStale || this.#admittedBytes > this.#lookAgainBytes) this.#look()
    if (this.#isFull) throw fullError(this.#environment.directory)
  }

  #look(): void {
    this.#admittedBytes = 0
    this.#lookedAt = this.#clock.monotonic()
    const { bavail, bsize, blocks } = statfsSync(this.#environment.directory)
    const { usedPages, pageBytes } = this.#environment.tree.stats()
    const { size } = statSync(path.join(this.#environment.directory, DATA_FILE))
    const room = bavail * bsize + size - usedPages * pageBytes
    const reserve = Math.min(RESERVE_BYTES, blocks * bsize * RESERVE_SHARE)
    this.#lookAgainBytes = reserve * LOOK_AGAIN_SHARE
    this.#isFull = room < reserve
  }
}
