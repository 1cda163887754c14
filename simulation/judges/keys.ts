/** Those who watch the keys of a partition, each with one question: see `shares`, `key-limits` and `key-order`. */
import type * as contract from '../../src/store/contract/store.ts'
import { KeyLimitsJudge } from './key-limits.ts'
import { KeyOrderJudge } from './key-order.ts'
import { KeyRules } from './key-rules.ts'
import type { Known } from './ledger.ts'
import { SharesJudge, checkLeft } from './shares.ts'
import type { Violations } from './violations.ts'

export type KeyClaim = {
  readonly request: contract.ClaimDue
  readonly reply: contract.ClaimReply
  /** What is handed out, still where it stood. */
  readonly taken: readonly Known[]
  readonly all: Iterable<Known>
  readonly now: number
}

export class KeysJudge {
  readonly rules = new KeyRules()
  readonly #violations: Violations
  readonly #shares: SharesJudge
  readonly #limits: KeyLimitsJudge
  readonly #order: KeyOrderJudge
  /** A pause, a rate or a limit of the whole topic. */
  readonly #isHeldBack: (topic: string) => boolean

  constructor(violations: Violations, isHeldBack: (topic: string) => boolean) {
    this.#violations = violations
    this.#isHeldBack = isHeldBack
    this.#shares = new SharesJudge(this.rules, violations)
    this.#limits = new KeyLimitsJudge(this.rules, violations)
    this.#order = new KeyOrderJudge(this.rules, violations)
  }

  changed(change: contract.ControlChange): void {
    this.rules.changed(change)
    this.#shares.changed()
  }

  clockJumped(): void {
    this.#limits.clockJumped()
  }

  claimed({ request, reply, taken, all, now }: KeyClaim): void {
    const known = [...all]
    const waiting = new Set(known.filter(({ place }) => place === 'waiting'))
    const before = new Set<Known>()
    for (const one of taken) {
      this.#limits.handedOut(one, before, now)
      this.#order.handedOut(one, waiting, now)
      waiting.delete(one)
      before.add(one)
    }
    const standing = this.#shares
      .claimed(taken, known, now)
      .filter(({ message }) => !this.#isHeldBack(message.topic))
    const left = checkLeft(
      request,
      reply,
      standing,
      (topic) => this.rules.areThere(topic) || this.#isHeldBack(topic),
    )
    if (left !== undefined)
      this.#violations.add('P16', `a claim has room, leaves ${left.message.id}, and says ${reply.next.state}`)
  }
}
