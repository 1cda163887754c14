/**
 * Simulated time: everything that will happen, in order, and the loop that makes it happen.
 *
 * Each event runs in a turn of its own: all promises and ticks that it sets off come to rest before the next one, as
 * they would on a machine where every answer and every timer is a separate event. `setImmediate` is the barrier: Node
 * empties both of its queues before it calls the next one. No real time passes, and none is read.
 *
 * An event may belong to a process. One that died never sees its events; one that is frozen sees them when it thaws.
 */
export interface Owner {
  readonly isDead: boolean
  /** Simulated time until which it does nothing. */
  readonly frozenUntil: number
}

export type Planned = { cancel(): void }

type Event = {
  at: number
  readonly order: number
  readonly owner: Owner | undefined
  run: (() => void) | undefined
}

/** So many events without time moving: somebody spins. */
const STANDSTILL_MAX = 20_000
/** How many turns are asked for at once: each still is a turn of its own, but the event loop goes round less often. */
const TURNS_AT_ONCE = 64

export class Timeline {
  #now = 0
  #order = 0
  #events = 0
  #standstill = 0
  readonly #heap: Event[] = []

  /** Milliseconds since the simulation began. */
  get now(): number {
    return this.#now
  }

  /** How many events have happened. */
  get events(): number {
    return this.#events
  }

  after(delayMs: number, owner: Owner | undefined, run: () => void): Planned {
    const event: Event = { at: this.#now + Math.max(0, delayMs), order: this.#order, owner, run }
    this.#order += 1
    this.#push(event)
    return { cancel: () => (event.run = undefined) }
  }

  /** Runs everything up to `until`, or up to the event after which `isOver` says that it is enough. */
  async runUntil(until: number, isOver: () => boolean): Promise<void> {
    while (await this.#turns(until, isOver));
    if (!isOver()) this.#now = Math.max(this.#now, until)
  }

  /** False when nothing is left to do. */
  #turns(until: number, isOver: () => boolean): Promise<boolean> {
    return new Promise((resolve, reject) => {
      let left = TURNS_AT_ONCE
      let isGoingOn = true
      const turn = (): void => {
        left -= 1
        try {
          isGoingOn &&= !isOver() && this.#fireNext(until)
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)))
        }
        if (left === 0) resolve(isGoingOn)
      }
      for (let i = 0; i < TURNS_AT_ONCE; i += 1) setImmediate(turn)
    })
  }

  #fireNext(until: number): boolean {
    for (;;) {
      const event = this.#heap[0]
      if (event === undefined || event.at > until) return false
      this.#pop()
      const { owner, run } = event
      if (run === undefined || owner?.isDead === true) continue
      if (owner !== undefined && owner.frozenUntil > event.at) {
        event.at = owner.frozenUntil
        this.#push(event)
        continue
      }
      this.#moveTo(event.at)
      event.run = undefined
      run()
      return true
    }
  }

  #moveTo(at: number): void {
    this.#standstill = at > this.#now ? 0 : this.#standstill + 1
    if (this.#standstill > STANDSTILL_MAX)
      throw new Error(`P10: ${STANDSTILL_MAX} events without time moving: somebody spins`)
    this.#now = Math.max(this.#now, at)
    this.#events += 1
  }

  #push(event: Event): void {
    let hole = this.#heap.length
    while (hole > 0) {
      const parent = (hole - 1) >> 1
      const other = this.#heap[parent] as Event
      if (!isBefore(event, other)) break
      this.#heap[hole] = other
      hole = parent
    }
    this.#heap[hole] = event
  }

  #pop(): void {
    const event = this.#heap.pop() as Event
    const size = this.#heap.length
    if (size === 0) return
    let hole = 0
    for (;;) {
      let child = hole * 2 + 1
      if (child >= size) break
      if (child + 1 < size && isBefore(this.#heap[child + 1] as Event, this.#heap[child] as Event)) child += 1
      if (isBefore(event, this.#heap[child] as Event)) break
      this.#heap[hole] = this.#heap[child] as Event
      hole = child
    }
    this.#heap[hole] = event
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
