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

/** A worker with more topics than these is concerned by all. */
const TOPICS_MAX = 20_000
const HASH_BYTES = 6

/**
 * As the watch knows the asker (`scripts/parts/watch.lua`): its name, its set of topics and the one that it asked for
 * before; '' for none.
 */
export type Standing = { readonly name: string; readonly topics: string; readonly topicsBefore: string }

const NOWHERE: Standing = { name: '', topics: '', topicsBefore: '' }

export class WantedTopics {
  readonly #byOwner = new Map<string, Set<string>>()
  /** The set of topics that each owner asked for last. */
  readonly #lastSets = new Map<string, string>()
  readonly #hashes = new Map<string, number>()

  note({ owner, wants, sleeper }: Pick<ClaimDue, 'owner' | 'wants' | 'sleeper'>, name: string): Standing {
    let topics = this.#byOwner.get(owner)
    if (topics === undefined) {
      topics = new Set()
      this.#byOwner.set(owner, topics)
    }
    if (topics.size <= TOPICS_MAX) for (const { topic } of wants) topics.add(topic)
    if (sleeper === undefined) return NOWHERE
    const topicsBefore = this.#lastSets.get(owner) ?? ''
    const set = this.#nameSet(wants)
    this.#lastSets.set(owner, set)
    return { name, topics: set, topicsBefore }
  }

  /** Returns the set that it asked for last. */
  forget(owner: string): string {
    const last = this.#lastSets.get(owner) ?? ''
    this.#byOwner.delete(owner)
    this.#lastSets.delete(owner)
    return last
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

  #nameSet(wants: readonly Want[]): string {
    let sum = 0
    for (const { topic } of wants) sum = (sum + this.#hash(topic)) % 2 ** (8 * HASH_BYTES)
    return wants.length === 0 ? '' : `${wants.length}-${sum.toString(36)}`
  }

  #hash(topic: string): number {
    const known = this.#hashes.get(topic)
    if (known !== undefined) return known
    const hash = createHash('sha1').update(topic).digest().readUIntBE(0, HASH_BYTES)
    if (this.#hashes.size < TOPICS_MAX) this.#hashes.set(topic, hash)
    return hash
  }
}
