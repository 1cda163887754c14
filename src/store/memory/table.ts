/**
 * The messages as columns: one typed array or plain array per field, a slot number per message, freed slots used
 * again. A million pending messages cost a few large arrays instead of a million objects.
 */
import type { PriorityRank } from '../../core/message.ts'
import { grownFloat64, grownInt32 } from '../../core/wheel.ts'
import type { NewMessage } from '../contract/store.ts'

/** How the table writes the states. `delayed` and `ready` are one: only the clock tells them apart. */
export const WAITING = 1
export const RUNNING = 2
export const DEAD = 3

export type Death = { readonly reason: string; readonly diedAt: number }

export class MessageTable {
  /** Produce order, for messages with the same moment. */
  #produced = 0
  readonly #slotOf = new Map<string, number>()
  readonly #free: number[] = []
  readonly #ids: string[] = []
  readonly #bodies: string[] = []
  /** Few have a policy of their own, fewer have failed, and fewest have died. */
  readonly #metas = new Map<number, string>()
  readonly #errors = new Map<number, string>()
  readonly #deaths = new Map<number, Death>()

  topic = new Int32Array(0)
  dueAt = new Float64Array(0)
  order = new Float64Array(0)
  attempt = new Int32Array(0)
  #state = new Uint8Array(0)
  #priority = new Uint8Array(0)

  get size(): number {
    return this.#slotOf.size
  }

  slotOf(id: string): number | undefined {
    return this.#slotOf.get(id)
  }

  add(message: NewMessage, topic: number, dueAt: number): number {
    const slot = this.#free.pop() ?? this.#ids.length
    this.#growTo(slot + 1)
    this.#slotOf.set(message.id, slot)
    this.#ids[slot] = message.id
    this.#bodies[slot] = message.body
    if (message.meta !== '') this.#metas.set(slot, message.meta)
    this.topic[slot] = topic
    this.dueAt[slot] = dueAt
    this.order[slot] = this.#produced
    this.attempt[slot] = 0
    this.#state[slot] = WAITING
    this.#priority[slot] = message.priority
    this.#produced += 1
    return slot
  }

  drop(slot: number): void {
    this.#slotOf.delete(this.id(slot))
    this.#errors.delete(slot)
    this.#deaths.delete(slot)
    this.#ids[slot] = ''
    this.#bodies[slot] = ''
    this.#metas.delete(slot)
    this.#state[slot] = 0
    this.#free.push(slot)
  }

  id(slot: number): string {
    return this.#ids[slot] as string
  }

  body(slot: number): string {
    return this.#bodies[slot] as string
  }

  meta(slot: number): string {
    return this.#metas.get(slot) ?? ''
  }

  state(slot: number): number {
    return this.#state[slot] as number
  }

  setState(slot: number, state: number): void {
    this.#state[slot] = state
  }

  priority(slot: number): PriorityRank {
    return this.#priority[slot] as PriorityRank
  }

  error(slot: number): string {
    return this.#errors.get(slot) ?? ''
  }

  setError(slot: number, error: string): void {
    if (error === '') this.#errors.delete(slot)
    else this.#errors.set(slot, error)
  }

  death(slot: number): Death | undefined {
    return this.#deaths.get(slot)
  }

  bury(slot: number, death: Death): void {
    this.setState(slot, DEAD)
    this.#deaths.set(slot, death)
  }

  unbury(slot: number): void {
    this.#deaths.delete(slot)
  }

  get deadCount(): number {
    return this.#deaths.size
  }

  /** Slots in use from `from` on, in slot order: the order of `inspect`, stable while messages come and go. */
  *slotsFrom(from: number): Generator<number> {
    for (let slot = from; slot < this.#ids.length; slot += 1) {
      if (this.#state[slot] !== 0) yield slot
    }
  }

  #growTo(size: number): void {
    const before = this.topic.length
    if (size <= before) return
    const after = Math.max(64, before * 2)
    this.topic = grownInt32(this.topic, after)
    this.dueAt = grownFloat64(this.dueAt, after)
    this.order = grownFloat64(this.order, after)
    this.attempt = grownInt32(this.attempt, after)
    this.#state = grownUint8(this.#state, after)
    this.#priority = grownUint8(this.#priority, after)
  }
}

function grownUint8(from: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const to = new Uint8Array(size)
  to.set(from)
  return to
}
