/**
 * What a store does in the background after it wrote, so that its tables stay short: each dialect says what. One run at a time,
 * a while after the first write; a failure harms nothing, because it is tried again after the next one.
 */
import type { Clock, Timer } from '../../clock.ts'

const AFTER_MS = 2_000

export class SqlUpkeep {
  readonly #clock: Clock
  readonly #work: (isClosed: () => boolean) => Promise<void>
  #timer: Timer | undefined
  #isRunning = false
  #isClosed = false

  constructor(clock: Clock, work: (isClosed: () => boolean) => Promise<void>) {
    this.#clock = clock
    this.#work = work
  }

  wrote(): void {
    if (this.#isClosed || this.#timer !== undefined || this.#isRunning) return
    this.#timer = this.#clock.schedule(AFTER_MS, () => void this.#run())
    // A program that only produces need not wait for it: the next one that writes does what it left.
    this.#timer.unref?.()
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
  }

  async #run(): Promise<void> {
    this.#timer = undefined
    this.#isRunning = true
    // The store's own calls tell that the server is away.
    await this.#work(() => this.#isClosed).catch(() => undefined)
    this.#isRunning = false
  }
}

/** Folds changes of counts into totals until fewer are left than are folded at once. */
export async function foldAll(
  size: number,
  fold: (size: number) => Promise<number>,
  isClosed: () => boolean,
): Promise<void> {
  for (let folded = size; folded === size && !isClosed();) folded = await fold(size)
}
