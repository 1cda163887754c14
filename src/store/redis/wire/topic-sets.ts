/**
 * Who looks in turn with whom. Workers that want the same topics share their looks (`scripts/parts/watch.lua`), so that each
 * set of topics has a name, whatever their order.
 */
import { createHash } from 'node:crypto'
import type { ClaimDue, Want } from '../../contract/store.ts'

/** As the watch knows the asker: see `scripts/parts/watch.lua`. */
export type Standing = { readonly name: string; readonly topics: string; readonly topicsBefore: string }

/** The hashes of so many topics are remembered. */
const HASHES_MAX = 20_000
const HASH_BYTES = 6

export class TopicSets {
  /** The set of topics that each owner asked for last. */
  readonly #last = new Map<string, string>()
  readonly #hashes = new Map<string, number>()

  /** What the watch is told of a claim by the store of this name; nothing where the asker does not sleep. */
  stand(name: string, { owner, wants, sleeper }: ClaimDue): Standing {
    if (sleeper === undefined) return { name: '', topics: '', topicsBefore: '' }
    const topics = this.#nameSet(wants)
    const topicsBefore = this.#last.get(owner) ?? ''
    this.#last.set(owner, topics)
    return { name, topics, topicsBefore }
  }

  /** The name of the set that the owner asked for last, '' for none. */
  forget(owner: string): string {
    const before = this.#last.get(owner) ?? ''
    this.#last.delete(owner)
    return before
  }

  #nameSet(wants: readonly Want[]): string {
    let sum = 0
    for (const { topic } of wants) sum = (sum + this.#hash(topic)) % 2 ** (8 * HASH_BYTES)
    return wants.length === 0 ? '' : `${wants.length}-${sum.toString(36)}`
  }

  #hash(topic: string): number {
    const known = this.#hashes.get(topic)
    if (known !== undefined) return known
    const hash = createHash('sha1').update(topic).digest().readUIntBE(0, HASH_BYTES)
    if (this.#hashes.size < HASHES_MAX) this.#hashes.set(topic, hash)
    return hash
  }
}
