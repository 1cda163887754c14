/**
 * Whom a wake-up concerns. It names the owner that need not hear it and the topics it is about; none means all. A worker
 * is concerned by the topics that it ever wanted, as long as it named any. A wake-up of another kind than `due` has a space
 * and its kind where the owner would stand: no owner begins with a space.
 */
import { WAKE_KINDS, type WakeUp } from '../../core/machines/sleep.ts'
import type { Want } from '../contract/store.ts'

/** A worker with more topics than these is concerned by all. */
const TOPICS_MAX = 20_000

export class WantedTopics {
  readonly #byOwner = new Map<string, Set<string>>()

  note(owner: string, wants: readonly Want[]): void {
    let topics = this.#byOwner.get(owner)
    if (topics === undefined) {
      topics = new Set()
      this.#byOwner.set(owner, topics)
    }
    if (topics.size <= TOPICS_MAX) for (const { topic } of wants) topics.add(topic)
  }

  forget(owner: string): void {
    this.#byOwner.delete(owner)
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
}
