/**
 * What the keys of a partition are allowed, as somebody knows it who only hears the changes. Shares no line with what
 * stores use.
 */
import type * as contract from '../../src/store/contract/store.ts'

type Allowed = NonNullable<contract.TopicLimit['perKey']>

export type KeyRule = Allowed & {
  readonly weight: number
  /** How many changes there had been when it was set. */
  readonly since: number
}

type TopicRules = {
  perKey: Allowed | undefined
  since: number
  readonly own: Map<string, contract.KeyLimit>
  /** When a limit of its own was set or taken back, by key. */
  readonly ownSince: Map<string, number>
}

export class KeyRules {
  readonly #topics = new Map<string, TopicRules>()
  #changes = 0

  changed(change: contract.ControlChange): void {
    if (change.kind !== 'limit') return
    this.#changes += 1
    const rules = this.#of(change.topic)
    if (change.key === undefined) {
      rules.perKey = change.limit?.perKey
      rules.since = this.#changes
      return
    }
    if (change.limit === null) rules.own.delete(change.key)
    else rules.own.set(change.key, change.limit)
    rules.ownSince.set(change.key, this.#changes)
  }

  /** Whether anything is said about the keys of a topic. */
  areThere(topic: string): boolean {
    const rules = this.#topics.get(topic)
    return rules !== undefined && (rules.perKey !== undefined || rules.own.size > 0)
  }

  of(topic: string, key: string): KeyRule {
    const rules = this.#topics.get(topic)
    const own = rules?.own.get(key)
    const ownSince = rules?.ownSince.get(key) ?? 0
    const weight = own?.weight ?? 1
    const isOwn = own !== undefined && (own.concurrency !== undefined || own.rate !== undefined)
    const allowed: Allowed = isOwn ? own : (rules?.perKey ?? {})
    return {
      ...(allowed.concurrency === undefined ? {} : { concurrency: allowed.concurrency }),
      ...(allowed.rate === undefined ? {} : { rate: allowed.rate }),
      weight,
      since: isOwn ? ownSince : Math.max(rules?.since ?? 0, ownSince),
    }
  }

  isSerial(topic: string, key: string): boolean {
    return this.of(topic, key).concurrency === 1
  }

  #of(topic: string): TopicRules {
    const known = this.#topics.get(topic)
    if (known !== undefined) return known
    const rules: TopicRules = { perKey: undefined, since: 0, own: new Map(), ownSince: new Map() }
    this.#topics.set(topic, rules)
    return rules
  }
}
