/**
 * Fetches due messages for the consumers: asks for no more than can be run soon, topic by topic, and says whether
 * there is room for more. What it asks for is decided by the lanes; when it asks, by the scheduler.
 */
import type { Clock } from '../clock.ts'
import type { Store, Want } from '../store/contract/store.ts'
import type { Consumers } from './consumers.ts'
import type { Lane, Lanes } from './runs/lanes.ts'
import type { Reading } from './scheduler.ts'
import type { Settler } from './settler.ts'

/** One claim asks for at most this: the next one is then under way while these are being run. */
const CLAIM_MAX = 500

export type DispatcherParts = {
  readonly clock: Clock
  readonly store: Store
  readonly lanes: Lanes
  readonly consumers: Consumers
  readonly settler: Settler
  readonly leaseMs: number
  /** Leases were handed out: somebody should watch over them. */
  readonly onLeased: () => void
  /** What was held back for want of room can be asked for. */
  readonly onRoom: () => void
}

const FULL: Reading = { next: { state: 'NO_TASK' }, got: 0, room: false }

export class Dispatcher {
  readonly #parts: DispatcherParts
  /** Lanes that the last claim left out: what is due for them, the store was not asked. */
  #leftOut: readonly Lane[] = []
  #servedLast: Lane | undefined
  #isFull = false
  #roomPlanned = false

  constructor(parts: DispatcherParts) {
    this.#parts = parts
  }

  async fetch(): Promise<Reading> {
    const { clock, store, consumers, lanes, leaseMs } = this.#parts
    const { wants, limit } = this.#decideWants()
    if (limit === 0) {
      this.#isFull = true
      return FULL
    }
    const sentAt = clock.monotonic()
    const { leases, next } = await store.claim({
      from: 'due',
      owner: 'worker',
      bytesMax: store.capabilities.batchBytesMax,
      wants,
      limit,
      leaseMs,
      leadMs: store.capabilities.leadMs,
    })
    if (leases.length > 0) {
      this.#servedLast = lanes.get(leases.at(-1)?.topic ?? '')
      this.#parts.onLeased()
      consumers.take(leases, sentAt, clock.monotonic())
      // More is due: the next claim goes out first, and these are run while the store works on it.
      if (next.state === 'EXPIRED') clock.soon(() => consumers.startDue())
      else consumers.startDue()
    }
    this.#isFull = !this.#hasRoom(lanes.all)
    return { next, got: leases.length, room: !this.#isFull }
  }

  /** Called for every message that ends; looks once per turn of the event loop whether that makes a difference. */
  noteRoom(): void {
    if (this.#roomPlanned || (!this.#isFull && this.#leftOut.length === 0)) return
    this.#roomPlanned = true
    process.nextTick(() => {
      this.#roomPlanned = false
      if (this.#hasRoom(this.#isFull ? this.#parts.lanes.all : this.#leftOut)) this.#parts.onRoom()
    })
  }

  #decideWants(): { wants: readonly Want[]; limit: number } {
    const { lanes, settler, store } = this.#parts
    const wants: Want[] = []
    const leftOut: Lane[] = []
    for (let distance = 0; distance < lanes.all.length; distance += 1) {
      const lane = lanes.after(this.#servedLast, distance)
      if (lane === undefined) continue
      const limit = lanes.roomFor(lane)
      if (limit > 0) wants.push({ topic: lane.topic, limit })
      else leftOut.push(lane)
    }
    this.#leftOut = leftOut
    if (wants.length === 0 || settler.isStuck) return { wants: [], limit: 0 }
    return { wants, limit: Math.max(0, Math.min(lanes.room, CLAIM_MAX, store.capabilities.batchMax)) }
  }

  /** Room that is worth a call: for a line that has run dry, or for half of what is fetched ahead. */
  #hasRoom(among: readonly Lane[]): boolean {
    const { lanes, settler } = this.#parts
    if (settler.isStuck || lanes.room <= 0) return false
    return among.some((lane) => {
      const room = lanes.roomFor(lane)
      return room > 0 && (lane.queued === 0 || room * 2 >= lane.ahead)
    })
  }
}
