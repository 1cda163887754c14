/**
 * Gathers what is handed over in one turn of the event loop, so that many calls become one.
 *
 *   add(a) add(b) add(c) ──end of the turn──► send([a, b, c])
 *
 * A batch is cut by entries and by bytes; an item that is larger than a batch may be goes alone. With `earlyAt`, the
 * item with this number in a turn sends what is there at once: the store works while the turn goes on, and the rest
 * follows at its end. `atTurnEnd` is a parameter because this file reads no clock and no loop: callers give
 * `process.nextTick`, which runs after everything that this turn still does, and before the event loop goes on.
 *
 * Cost: one push per item, one pass over a batch.
 */

export type BatchLimits<T> = {
  readonly entriesMax: number
  readonly bytesMax: number
  readonly sizeOf: (item: T) => number
  /** How many entries an item counts; 1 where it is not given. */
  readonly entriesOf?: (item: T) => number
}

export type GatheringOptions<T> = BatchLimits<T> & {
  readonly earlyAt?: number
  readonly atTurnEnd: (run: () => void) => void
  /** Called for each batch, in order. It must not throw. */
  readonly send: (batch: readonly T[]) => void
}

export class Gatherer<T> {
  readonly #options: GatheringOptions<T>
  #items: T[] = []
  /** Of this turn, those that left early included. */
  #added = 0

  constructor(options: GatheringOptions<T>) {
    this.#options = options
  }

  add(item: T): void {
    this.#items.push(item)
    this.#added += 1
    if (this.#added === 1) this.#options.atTurnEnd(() => this.#end())
    if (this.#added === this.#options.earlyAt) this.flush()
  }

  /** Sends what is there, without waiting for the end of the turn. */
  flush(): void {
    const items = this.#items
    if (items.length === 0) return
    this.#items = []
    for (const batch of cutBatches(items, this.#options)) this.#options.send(batch)
  }

  #end(): void {
    this.#added = 0
    this.flush()
  }
}

/** In order, each within the limits; the list itself where it fits as a whole. */
export function cutBatches<T>(
  items: readonly T[],
  { entriesMax, bytesMax, sizeOf, entriesOf }: BatchLimits<T>,
): readonly (readonly T[])[] {
  const batches: (readonly T[])[] = []
  let from = 0
  let bytes = 0
  let entries = 0
  items.forEach((item, i) => {
    const size = sizeOf(item)
    const count = entriesOf === undefined ? 1 : entriesOf(item)
    if (i > from && (entries + count > entriesMax || bytes + size > bytesMax)) {
      batches.push(items.slice(from, i))
      from = i
      bytes = 0
      entries = 0
    }
    bytes += size
    entries += count
  })
  batches.push(from === 0 ? items : items.slice(from))
  return batches
}
