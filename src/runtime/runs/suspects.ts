/**
 * Which messages that lapsed before this process takes in hand: one of them may be a poison, which ends every process that
 * starts it (`core/machines/dilution`). What a claim brings beyond that
 * goes back at once, uncounted and in its place; until that is known at the store no suspect starts, because one that kills
 * us would take along what we still hold. Its lane then asks for no more than there is place for.
 *
 * A lapse that was the store's or the network's doing tells nothing of the message. Where our own calls failed a moment
 * ago, those that lapsed once are not held back.
 */
import { suspectsMax } from '../../core/machines/dilution.ts'
import type { Lane } from './lane.ts'
import type { Run } from './run.ts'

/** Its suspects found no place when it was asked for last. */
type Dilution = {
  /** Of the first that found none. */
  readonly lapses: number
  /** Monotonic; which claim it was. */
  readonly askedAt: number
}

export class Suspects {
  readonly #slots: () => number
  readonly #inHand = new Set<Run>()
  readonly #returning = new Set<Run>()
  readonly #diluted = new Map<Lane, Dilution>()
  /** Those that lapsed once and ended well, since there were none in hand. */
  #proven = 0
  /** Monotonic. */
  #forgivenUntil = -Infinity

  constructor(slots: () => number) {
    this.#slots = slots
  }

  /** Our own calls fail: until then what lapsed once did so for that reason. */
  forgive(until: number): void {
    this.#forgivenUntil = Math.max(this.#forgivenUntil, until)
  }

  /** Called for each that a claim brings, in its order. False: there is no place for it, and it goes back. */
  admits(run: Run, askedAt: number): boolean {
    const { lane, lease } = run
    if (lane.own !== undefined || lane.remote !== undefined) return true
    const dilution = this.#diluted.get(lane)
    if (lease.lapses === 0) {
      // Behind all suspects of its lane, or before them.
      if (dilution !== undefined && dilution.askedAt !== askedAt) this.#diluted.delete(lane)
      return true
    }
    if (lease.lapses === 1 && askedAt < this.#forgivenUntil) return true
    const isBehindAnother = dilution?.askedAt === askedAt
    if (!isBehindAnother && this.#places(lease.lapses) > 0) {
      this.#inHand.add(run)
      return true
    }
    if (!isBehindAnother) this.#diluted.set(lane, { lapses: lease.lapses, askedAt })
    this.#returning.add(run)
    return false
  }

  /** It is not in hand any more. Answers whether suspects that waited for it may start now. */
  letGo(run: Run): boolean {
    if (run.lease.lapses === 0) return false
    if (this.#inHand.delete(run) && run.isStarted && run.lease.lapses === 1) this.#proven += 1
    const wasLast = this.#returning.delete(run) && this.#returning.size === 0
    if (this.#inHand.size === 0 && this.#diluted.size === 0) this.#proven = 0
    return wasLast
  }

  mayStart(run: Run): boolean {
    return this.#returning.size === 0 || run.lease.lapses === 0
  }

  /** How many more of this lane can be taken in hand. */
  placesFor(lane: Lane): number {
    const dilution = this.#diluted.get(lane)
    return dilution === undefined ? Infinity : this.#returning.size > 0 ? 0 : this.#places(dilution.lapses)
  }

  #places(lapses: number): number {
    let most = lapses
    for (const { lease } of this.#inHand) most = Math.max(most, lease.lapses)
    return Math.max(0, suspectsMax(most, this.#slots(), this.#proven) - this.#inHand.size)
  }
}
