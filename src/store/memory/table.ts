/**
 * The messages as columns: one typed array or plain array per field, a slot number per message, freed slots used
 * again. A million pending messages cost a few large arrays instead of a million objects. What few messages have (a
 * policy, an error, a moment before the last retry) lies in maps by slot.
 */
import { grownFloat64, grownInt32, grownUint8 } from '../../core/wheel/columns.ts'
import type { PriorityRank } from '../../core/message.ts'
import type { NewMessage } from '../contract/store.ts'

/** How the table writes the states. `delayed` and `ready` are one: only the clock tells them apart. */
export const FREE = 0
export const WAITING = 1
export const RUNNING = 2
export const DEAD = 3

const NO_TAGS: readonly string[] = []

/** What takes the place of a message that runs. */
export type WaitingSuccessor = {
  readonly message: NewMessage
  readonly topic: number
  readonly dueAt: number
  readonly producedAt: number
  /** In the order of production, for the index of tags. */
  readonly order: number
}

/** What a message brings into the table. */
export type NewContent = Pick<NewMessage, 'id' | 'topic' | 'body' | 'meta' | 'priority' | 'tags' | 'key'>

export type Death = {
  readonly reason: string
  readonly diedAt: number
  /** How many had died before: a walk over the dead ends at those of before it. */
  readonly number: number
}

export class MessageTable {
  /** Produce order, for messages with the same moment. */
  #produced = 0
  #deaths = 0
  readonly #slotOf = new Map<string, number>()
  readonly #free: number[] = []
  readonly #ids: string[] = []
  readonly #bodies: string[] = []
  readonly #metas = new Map<number, string>()
  readonly #tags = new Map<number, readonly string[]>()
  readonly #keys = new Map<number, string>()
  readonly #errors = new Map<number, string>()
  readonly #lapses = new Map<number, number>()
  readonly #firstDueAt = new Map<number, number>()
  readonly #buried = new Map<number, Death>()
  readonly #successors = new Map<number, WaitingSuccessor>()
  readonly #cancelling = new Map<number, true>()
  readonly #sparse: readonly Map<number, unknown>[] = [
    this.#metas,
    this.#tags,
    this.#keys,
    this.#errors,
    this.#lapses,
    this.#firstDueAt,
    this.#buried,
    this.#successors,
    this.#cancelling,
  ]

  topic = new Int32Array(0)
  dueAt = new Float64Array(0)
  order = new Float64Array(0)
  producedAt = new Float64Array(0)
  attempt = new Int32Array(0)
  states = new Uint8Array(0)
  #priority = new Uint8Array(0)

  get size(): number {
    return this.#slotOf.size
  }

  /** Every slot in use is below this. */
  get slots(): number {
    return this.#ids.length
  }

  /** For the timing wheel: the lane of a message is its topic. */
  get lane(): Int32Array {
    return this.topic
  }

  slotOf(id: string): number | undefined {
    return this.#slotOf.get(id)
  }

  add(
    message: NewContent,
    topic: number,
    { dueAt, producedAt }: { readonly dueAt: number; readonly producedAt: number },
  ): number {
    const slot = this.#free.pop() ?? this.#ids.length
    this.#growTo(slot + 1)
    this.#slotOf.set(message.id, slot)
    this.#ids[slot] = message.id
    this.#bodies[slot] = message.body
    if (message.meta !== '') this.#metas.set(slot, message.meta)
    if (message.tags !== undefined && message.tags.length > 0) this.#tags.set(slot, message.tags)
    if (message.key !== undefined) this.#keys.set(slot, message.key)
    this.topic[slot] = topic
    this.dueAt[slot] = dueAt
    this.order[slot] = this.nextOrder()
    this.producedAt[slot] = producedAt
    this.attempt[slot] = 0
    this.states[slot] = WAITING
    this.#priority[slot] = message.priority
    return slot
  }

  nextOrder(): number {
    this.#produced += 1
    return this.#produced - 1
  }

  /** How many messages wait for one that runs. */
  get successors(): number {
    return this.#successors.size
  }

  successor(slot: number): WaitingSuccessor | undefined {
    return this.#successors.size === 0 ? undefined : this.#successors.get(slot)
  }

  setSuccessor(slot: number, successor: WaitingSuccessor | undefined): void {
    if (successor === undefined) this.#successors.delete(slot)
    else this.#successors.set(slot, successor)
  }

  isCancelling(slot: number): boolean {
    return this.#cancelling.size > 0 && this.#cancelling.has(slot)
  }

  setCancelling(slot: number): void {
    this.#cancelling.set(slot, true)
  }

  drop(slot: number): void {
    this.#slotOf.delete(this.id(slot))
    this.#ids[slot] = ''
    this.#bodies[slot] = ''
    for (const column of this.#sparse) if (column.size > 0) column.delete(slot)
    this.states[slot] = FREE
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

  /** Asks nothing of messages without tags while no message has any. */
  tags(slot: number): readonly string[] {
    return this.#tags.size === 0 ? NO_TAGS : (this.#tags.get(slot) ?? NO_TAGS)
  }

  key(slot: number): string | undefined {
    return this.#keys.size === 0 ? undefined : this.#keys.get(slot)
  }

  setContent(slot: number, { body, meta }: { readonly body: string; readonly meta: string }): void {
    this.#bodies[slot] = body
    if (meta === '') this.#metas.delete(slot)
    else this.#metas.set(slot, meta)
  }

  state(slot: number): number {
    return this.states[slot] as number
  }

  setState(slot: number, state: number): void {
    this.states[slot] = state
  }

  priority(slot: number): PriorityRank {
    return this.#priority[slot] as PriorityRank
  }

  /** The moment last set by a user, where a retry has moved it since. */
  firstDueAt(slot: number): number {
    return this.#firstDueAt.get(slot) ?? (this.dueAt[slot] as number)
  }

  /** A user's own moment. */
  setMoment(slot: number, dueAt: number): void {
    this.dueAt[slot] = dueAt
    this.#firstDueAt.delete(slot)
  }

  /** The moment of a retry. */
  putOff(slot: number, dueAt: number): void {
    this.#firstDueAt.set(slot, this.firstDueAt(slot))
    this.dueAt[slot] = dueAt
  }

  addAttempt(slot: number, by: 1 | -1): void {
    this.attempt[slot] = (this.attempt[slot] as number) + by
  }

  lapses(slot: number): number {
    return this.#lapses.get(slot) ?? 0
  }

  setLapses(slot: number, lapses: number): void {
    if (lapses === 0) this.#lapses.delete(slot)
    else this.#lapses.set(slot, lapses)
  }

  error(slot: number): string {
    return this.#errors.get(slot) ?? ''
  }

  setError(slot: number, error: string): void {
    if (error === '') this.#errors.delete(slot)
    else this.#errors.set(slot, error)
  }

  death(slot: number): Death | undefined {
    return this.#buried.get(slot)
  }

  bury(slot: number, reason: string, diedAt: number): void {
    this.setState(slot, DEAD)
    this.#buried.set(slot, { reason, diedAt, number: this.#deaths })
    this.#deaths += 1
  }

  unbury(slot: number): void {
    this.#buried.delete(slot)
  }

  get deadCount(): number {
    return this.#buried.size
  }

  /** How many have died so far, those that live again included. */
  get deaths(): number {
    return this.#deaths
  }

  #growTo(size: number): void {
    const before = this.topic.length
    if (size <= before) return
    const after = Math.max(64, before * 2)
    this.topic = grownInt32(this.topic, after)
    this.dueAt = grownFloat64(this.dueAt, after)
    this.order = grownFloat64(this.order, after)
    this.producedAt = grownFloat64(this.producedAt, after)
    this.attempt = grownInt32(this.attempt, after)
    this.states = grownUint8(this.states, after)
    this.#priority = grownUint8(this.#priority, after)
  }
}

/** Absent in most: what has no key looks as it did before there were keys. */
export function keyPart(key: string | undefined): { readonly key?: string } {
  return key === undefined ? {} : { key }
}
