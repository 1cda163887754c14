/** What was published and confirmed, what arrived, and who was killed when; compared at the end. */

/** A repeat is excused by a kill within this time: what was in flight then, on either way. */
const IN_FLIGHT_MS = 3_000

type Published = { readonly confirmedAt: number; readonly delayMs: number; readonly sends: number }

export class BridgeAudit {
  readonly #published = new Map<string, Published>()
  readonly #arrivals = new Map<string, number[]>()
  readonly #kills: number[] = []
  readonly #returns: number[] = []
  readonly #lateness: number[] = []
  #early = 0

  published(id: string, published: Published): void {
    this.#published.set(id, published)
  }

  /** `dueAt` as the bridge says; `firstSentAt` as the publisher knows. */
  arrived(id: string, at: number, dueAt: number, earliestAt: number): void {
    const before = this.#arrivals.get(id)
    if (at < dueAt || at < earliestAt) this.#early += 1
    if (before === undefined) {
      this.#arrivals.set(id, [at])
      this.#lateness.push(at - dueAt)
    } else before.push(at)
  }

  killed(at: number): void {
    this.#kills.push(at)
  }

  /** A killed broker is back: what was in flight comes again about now. */
  returned(at: number): void {
    this.#returns.push(at)
  }

  /** Confirmed and not seen yet. */
  get missing(): number {
    let count = 0
    for (const id of this.#published.keys()) if (!this.#arrivals.has(id)) count += 1
    return count
  }

  verdict(): BridgeVerdict {
    const repeated = [...this.#arrivals].filter(([, times]) => times.length > 1)
    const unexcused = repeated.filter(([id, times]) => !this.#isExcused(id, times[0] ?? 0))
    const late = this.#lateness.toSorted((a, b) => a - b)
    const quantile = (q: number): number => late[Math.min(late.length - 1, Math.floor(late.length * q))] ?? 0
    return {
      kills: this.#kills.length,
      published: this.#published.size,
      lost: this.missing,
      early: this.#early,
      repeated: repeated.length,
      'repeated, not in flight': unexcused.length,
      'late p50, p99, max (ms)': [0.5, 0.99, 1].map((q) => Math.round(quantile(q))).join(', '),
    }
  }

  #isExcused(id: string, firstArrivedAt: number): boolean {
    const published = this.#published.get(id)
    // The publisher itself sent it twice, because it did not hear the confirm of the first.
    if (published === undefined || published.sends > 1) return true
    const moments = [firstArrivedAt, published.confirmedAt]
    return [...this.#kills, ...this.#returns].some((moment) =>
      moments.some((at) => Math.abs(moment - at) <= IN_FLIGHT_MS),
    )
  }
}

export type BridgeVerdict = Readonly<Record<string, number | string>>

export function isBroken(verdict: BridgeVerdict): boolean {
  return ['lost', 'early', 'repeated, not in flight'].some((name) => Number(verdict[name]) > 0)
}
