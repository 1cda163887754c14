/**
 * The order within a key (P7, P17): of what waits and is due, nothing of the same key comes before what is handed out; and
 * where a retry holds a key that is allowed one at a time, only what holds it is handed out.
 */
import type { KeyRules } from './key-rules.ts'
import { comesBefore, type Known } from './ledger.ts'
import type { Violations } from './violations.ts'

export class KeyOrderJudge {
  readonly #rules: KeyRules
  readonly #violations: Violations

  constructor(rules: KeyRules, violations: Violations) {
    this.#rules = rules
    this.#violations = violations
  }

  /** A message that is due is handed out; `waiting`: what waits beside it, due or not. */
  handedOut(known: Known, waiting: Iterable<Known>, now: number): void {
    const { id, topic, key } = known.message
    if (key === undefined) return
    const others = [...waiting].filter(
      (one) => one !== known && one.message.key === key && one.message.topic === topic,
    )
    const holders = this.#rules.isSerial(topic, key) ? others.filter(({ isHolding }) => isHolding) : []
    if (known.isHolding && this.#rules.isSerial(topic, key)) return
    const [holder] = holders
    if (holder !== undefined)
      return this.#violations.add('P17', `${id} of "${key}" starts, but ${holder.message.id} holds its key`)
    const before = others.find((one) => one.dueAt <= now && comesBefore(one, known))
    if (before !== undefined)
      this.#violations.add('P7', `${id} of "${key}" is handed out before ${before.message.id}`)
  }
}
