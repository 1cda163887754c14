/**
 * Nobody spins (P10): however badly the store behaves, a process calls it only so often. What it has a reason for
 * (messages that came, wake-ups, a user's calls) is allowed on top.
 */
import type { World } from '../world/world.ts'

const WINDOW_MS = 1_000
const CALLS_MAX = 80
const CALLS_PER_REASON = 4
/** Leases are extended three times per lease, and a lease lasts a second or more; twice that is suspicious. */
const EXTENSIONS_MAX = 6

export class RateCheck {
  readonly #world: World
  readonly #name: string
  readonly #held: () => number
  #beganAt = 0
  #calls = 0
  #reasons = 0
  #total = 0

  /** `held`: how many leases there are to extend. */
  constructor(world: World, name: string, held: () => number) {
    this.#world = world
    this.#name = name
    this.#held = held
  }

  get total(): number {
    return this.#total
  }

  allow(reasons: number): void {
    this.#reasons += reasons
  }

  /** True when this call is one too many: who is never answered can no longer spin. */
  count(verb: string): boolean {
    const { timeline, violations } = this.#world
    this.#total += 1
    if (!/^(claim|extend|settle)/.test(verb)) return false // A user's call: as often as the user likes.
    if (timeline.now - this.#beganAt >= WINDOW_MS) {
      this.#beganAt = timeline.now
      this.#calls = 0
      this.#reasons = 0
    }
    this.#calls += 1
    const { batchMax, partitions } = this.#world.plan
    const extensions = EXTENSIONS_MAX * (partitions - 1 + Math.ceil(this.#held() / batchMax))
    const callsMax = CALLS_MAX * partitions
    if (this.#calls <= callsMax + extensions + CALLS_PER_REASON * this.#reasons) return false
    violations.add('P10', `${this.#name} spins: ${this.#calls} calls within a second, the last a ${verb}`)
    return true
  }
}
