/**
 * A key's limits hold (P17), by counting: leases that were handed out since its limit was set, and their starts in every
 * window.
 */
import type { KeyRules } from './key-rules.ts'
import type { Known } from './ledger.ts'
import type { Violations } from './violations.ts'

/** How many of the last starts a new one is compared with. */
const WINDOWS = 100

type Counted = {
  /** The rule under which it is counted. */
  since: number
  /** Messages that were handed out since: those that still run are counted. */
  readonly handed: Set<Known>
  starts: number[]
}

export class KeyLimitsJudge {
  readonly #rules: KeyRules
  readonly #violations: Violations
  readonly #counted = new Map<string, Counted>()

  constructor(rules: KeyRules, violations: Violations) {
    this.#rules = rules
    this.#violations = violations
  }

  /** A message that is due is handed out; it still stands where it stood. `before`: of the same claim. */
  handedOut(known: Known, before: ReadonlySet<Known>, now: number): void {
    const { id, topic, key } = known.message
    if (key === undefined) return
    const { concurrency, rate, since } = this.#rules.of(topic, key)
    if (concurrency === undefined && rate === undefined) return
    const counted = this.#countedOf(`${topic}\n${key}`, since)
    for (const one of counted.handed)
      if (one.place !== 'running' && !before.has(one)) counted.handed.delete(one)
    counted.handed.add(known)
    if (concurrency !== undefined && counted.handed.size > concurrency)
      this.#violations.add(
        'P17',
        `${id} is the ${counted.handed.size}. of its key "${key}" that runs; allowed: ${concurrency}`,
      )
    if (rate === undefined) return
    counted.starts = [...counted.starts.slice(1 - WINDOWS), now]
    for (const [i, from] of counted.starts.entries()) {
      const count = counted.starts.length - i
      // Stores count whole milliseconds.
      const most = rate.burst + (now - from + 1) / rate.intervalMs + 1
      if (count <= most) continue
      this.#violations.add(
        'P17',
        `${id} is start ${count} of its key "${key}" in ${now - from} ms; allowed: ${most}`,
      )
      return
    }
  }

  /** The store's clock was set: windows of before mean nothing. */
  clockJumped(): void {
    for (const counted of this.#counted.values()) counted.starts = []
  }

  #countedOf(name: string, since: number): Counted {
    const known = this.#counted.get(name)
    if (known?.since === since) return known
    const counted: Counted = { since, handed: new Set(), starts: [] }
    this.#counted.set(name, counted)
    return counted
  }
}
