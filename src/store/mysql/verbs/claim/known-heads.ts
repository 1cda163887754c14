/**
 * The first moments of what waits, as the last claim left them. Beginning there spares a round trip, and the index entries of
 * what was taken just now, which stay until the server purges them. It is a bet: what is put or given back elsewhere is
 * overlooked. Such a change rings, and a look from the start follows; it follows soon in any case.
 */
import { mayTakeAtOnce } from './due.ts'
import type { DueTerms } from './picking.ts'
import type { TopicHead } from './heads.ts'

/** No longer than this without a look from the start. Half of what makes a ring needless (`ring-notes`). */
const KNOWN_MS = 500

export type LeftHeads = {
  readonly heads: readonly TopicHead[]
  /** When we looked from the start, and when the first of them is due: monotonic. */
  readonly lookedAt: number
  readonly dueAt: number
  /** Something that was due was left behind: there is more than one claim takes, or others have locked it. */
  readonly isBehind: boolean
}

export class KnownHeads {
  #left: (LeftHeads & { readonly wanted: string }) | undefined
  #rings = 0

  /** How often it had to forget: a claim that took its time keeps nothing if it did meanwhile. */
  get rings(): number {
    return this.#rings
  }

  /** Something was put or given back. */
  forget(): void {
    this.#rings += 1
    this.#left = undefined
  }

  keep({ topics }: DueTerms, left: LeftHeads, rings: number): void {
    if (rings === this.#rings) this.#left = { ...left, wanted: nameOf(topics) }
  }

  /** What a claim may begin with instead of a look: something of it is due for sure. */
  for(terms: DueTerms, now: number): LeftHeads | undefined {
    const left = this.#left
    if (left === undefined || left.dueAt > now || now > lookAgainAt(left)) return undefined
    if (terms.limitAll === 0 || left.wanted !== nameOf(terms.topics)) return undefined
    return mayTakeAtOnce(terms, left.heads) ? left : undefined
  }
}

export function lookAgainAt({ lookedAt }: LeftHeads): number {
  return lookedAt + KNOWN_MS
}

function nameOf(topics: readonly string[]): string {
  return topics.join('\n')
}
