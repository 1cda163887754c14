/**
 * What each worker wants: whom a wake-up concerns, and who looks in turn with whom.
 *
 * A wake-up names the owner that need not hear it and the topics it is about; none means all. A worker is concerned by the
 * topics that it ever wanted, as long as it named any. A wake-up of another kind than `due` has a space and its kind where
 * the owner would stand: no owner begins with a space. Workers that want the same topics share their looks, so that each
 * set of topics has a name, whatever their order.
 */
import { createHash } from 'node:crypto'
import { WAKE_KINDS, type WakeUp } from '../../../core/schedule.ts'
import type { ClaimDue, Want } from '../../contract/store.ts'

/** As the watch knows the asker: see `scripts/parts/watch.lua`. */
export type Standing = { readonly name: string; readonly topics: string; readonly topicsBefore: string }

/** A worker with more topics than these is concerned by all. */
const TOPICS_MAX = 20_000
const HASH_BYTES = 6

export class WantedTopics {
  readonly #byOwner = new Map<string, Set<string>>()
  /** The set of topics that each owner asked for last. */
  readonly #lastSets = new Map<string, string>()
  readonly #hashes = new Map<string, number>()

  note(owner: string, wants: readonly Want[]): void {
    let topics = this.#byOwner.get(owner)
    if (topics === undefined) {
      topics = new Set()
      this.#byOwner.set(owner, topics)
    }
    if (topics.size <= TOPICS_MAX) for (const { topic } of wants) topics.add(topic)
  }

  /** What the watch is told of a claim by the store of this name; nothing where the asker does not sleep. */
  stand(name: string, { owner, wants, sleeper }: ClaimDue): Standing {
    this.note(owner, wants)
    if (sleeper === undefined) return { name: '', topics: '', topicsBefore: '' }
    const { now, before } = this.nameSet(owner, wants)
    return { name, topics: now, topicsBefore: before }
  }

  /** The name of the set that the owner asks for now, '' for none, and of the one that it asked for before. */
  nameSet(owner: string, wants: readonly Want[]): { readonly now: string; readonly before: string } {
    let sum = 0
    for (const { topic } of wants) sum = (sum + this.#hash(topic)) % 2 ** (8 * HASH_BYTES)
    const now = wants.length === 0 ? '' : `${wants.length}-${sum.toString(36)}`
    const before = this.#lastSets.get(owner) ?? ''
    this.#lastSets.set(owner, now)
    return { now, before }
  }

  forget(owner: string): void {
    this.#byOwner.delete(owner)
    this.#lastSets.delete(owner)
  }

  /**
   * What a message means to a worker; undefined when it does not concern it. `message`: the owner, a line feed, and the
   * topics, each in a line. Without an owner, a listener hears for all.
   */
  hear(owner: string | undefined, message: string): WakeUp | undefined {
    const [giver = '', ...topics] = message.split('\n')
    if (!this.#isConcerned(owner, giver, topics)) return undefined
    return { kind: WAKE_KINDS.find((kind) => giver === ` ${kind}`) ?? 'due' }
  }

  #isConcerned(owner: string | undefined, giver: string, topics: readonly string[]): boolean {
    if (owner !== undefined && giver === owner) return false
    if (topics.length === 0 || topics[0] === '') return true
    const wanted = owner === undefined ? [...this.#byOwner.values()] : [this.#byOwner.get(owner)]
    return (
      wanted.length === 0 ||
      wanted.some(
        (its) => its === undefined || its.size > TOPICS_MAX || topics.some((topic) => its.has(topic)),
      )
    )
  }

  #hash(topic: string): number {
    const known = this.#hashes.get(topic)
    if (known !== undefined) return known
    const hash = createHash('sha1').update(topic).digest().readUIntBE(0, HASH_BYTES)
    if (this.#hashes.size < TOPICS_MAX) this.#hashes.set(topic, hash)
    return hash
  }
}
