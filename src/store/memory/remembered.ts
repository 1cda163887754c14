/**
 * Ids that stay taken after their message is done, each until its moment. A question for one after that finds nothing,
 * and every call drops some that are over, so that they leave by themselves.
 *
 * Cost: O(log n) to remember one and to drop one; a store that remembers nothing pays nothing.
 */
import type { StoredMessage } from '../contract/store.ts'
import { ReadyLine } from './line.ts'
import { keyPart, type MessageTable } from './table.ts'

/** How many one call drops at most. */
const DROPPED_MAX = 100

export type RememberedMessage = StoredMessage & { readonly state: 'completed' }

type Kept = { readonly message: RememberedMessage; readonly number: number }

export class RememberedIds {
  readonly #kept = new Map<string, Kept>()
  readonly #ids = new Map<number, string>()
  /** By the moment at which they are over. */
  readonly #line = new ReadyLine((number) => this.#ids.has(number))
  #count = 0

  add(message: RememberedMessage): void {
    this.delete(message.id)
    this.#count += 1
    this.#kept.set(message.id, { message, number: this.#count })
    this.#ids.set(this.#count, message.id)
    this.#line.push(this.#count, message.until, this.#count)
  }

  find(id: string, now: number): RememberedMessage | undefined {
    const message = this.#kept.get(id)?.message
    return message !== undefined && message.until > now ? message : undefined
  }

  /** In the order in which they came, from this number on; each with its number. */
  *from(first: number): Generator<Kept> {
    for (const kept of this.#kept.values()) if (kept.number >= first) yield kept
  }

  delete(id: string): void {
    const kept = this.#kept.get(id)
    if (kept === undefined) return
    this.#kept.delete(id)
    this.#ids.delete(kept.number)
  }

  prune(now: number): void {
    if (this.#kept.size === 0) return
    for (let left = DROPPED_MAX; left > 0 && (this.#line.firstDueAt() ?? Infinity) <= now; left -= 1)
      this.delete(this.#ids.get(this.#line.first() ?? 0) ?? '')
  }
}

/** What stays of a message, but for how it ended. */
export function rememberedMessage(
  table: MessageTable,
  slot: number,
  topic: string,
): Omit<RememberedMessage, 'until' | 'outcome' | 'result'> {
  return {
    id: table.id(slot),
    topic,
    body: '',
    meta: '',
    tags: [],
    ...keyPart(table.key(slot)),
    priority: table.priority(slot),
    state: 'completed',
    dueAt: table.dueAt[slot] as number,
    firstDueAt: table.firstDueAt(slot),
    producedAt: table.producedAt[slot] as number,
    attempt: table.attempt[slot] as number,
    lapses: 0,
    error: '',
    reason: '',
    owner: '',
    leasedAt: 0,
  }
}
