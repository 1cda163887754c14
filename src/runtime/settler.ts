/**
 * Tells the store how attempts ended, in batches: whatever ends in one turn of the event loop is one call.
 *
 * A settlement that fails is tried again, with growing pauses, for as long as its lease lives and one lease more:
 * the fence makes a late answer harmless, and one that still counts saves a repetition. It is never taken for a
 * failure of the handler. While settlements are stuck the dispatcher fetches nothing new.
 *
 * If we die here: the lease lapses, and the reaper of another process decides.
 */
import { setMaxListeners } from 'node:events'
import { sleep, type Clock } from '../clock.ts'
import { exponentialMs, type Exponential } from '../core/backoff.ts'
import { assertNever } from '../core/errors.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Random } from '../random.ts'
import type { LeaseRef, SettleResult, Settlement, Store } from '../store/contract/store.ts'

const PAUSE: Exponential = { baseMs: 50, factor: 2, capMs: 2_000, jitter: 0.3 }

/** `gave up`: the store did not answer in time. `maybe`: lost, but an earlier try may have been what settled it. */
export type SettleAnswer = SettleResult | 'maybe' | 'gave up'

/** One settlement on its way. */
export interface Entry {
  readonly settlement: Settlement
  tries: number
  /** Monotonic: from when on it is no longer worth trying. */
  givesUpAt(): number
  answered(answer: SettleAnswer): void
}

export type SettlerParts = {
  readonly clock: Clock
  readonly random: Random
  readonly store: Store
  readonly onFailure: (error: unknown) => void
  /** Everything that was stuck has been answered. */
  readonly onRecovered: () => void
}

export class Settler {
  readonly #parts: SettlerParts
  readonly #ending = new AbortController()
  #waiting: Entry[] = []
  #flushPlanned = false
  readonly #underWay = new Set<Promise<void>>()
  #stuck = 0

  constructor(parts: SettlerParts) {
    this.#parts = parts
    // As many batches may be waiting for their next try as there are handlers; Node warns of a leak from eleven on.
    setMaxListeners(0, this.#ending.signal)
  }

  /** Whether the store has failed to take settlements that still matter. */
  get isStuck(): boolean {
    return this.#stuck > 0
  }

  add(entry: Entry): void {
    this.#waiting.push(entry)
    if (this.#flushPlanned) return
    this.#flushPlanned = true
    // After everything that this turn still has to say, but before the event loop goes on.
    process.nextTick(() => this.#flush())
  }

  /** Resolves when everything added so far was answered or given up. */
  async drain(): Promise<void> {
    this.#flush()
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  /** Gives up what is still unanswered. */
  end(): void {
    this.#ending.abort()
  }

  #flush(): void {
    this.#flushPlanned = false
    const { batchMax } = this.#parts.store.capabilities
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.length <= batchMax ? this.#waiting : this.#waiting.slice(0, batchMax)
      this.#waiting = this.#waiting.length <= batchMax ? [] : this.#waiting.slice(batchMax)
      const sending = this.#send(batch)
      this.#underWay.add(sending)
      void sending.finally(() => this.#underWay.delete(sending))
    }
  }

  /** Never rejects. */
  async #send(batch: readonly Entry[]): Promise<void> {
    let left = batch
    for (let failures = 0; left.length > 0;) {
      try {
        const results = await this.#parts.store.settle(left.map(({ settlement }) => settlement))
        for (const [i, entry] of left.entries()) entry.answered(answerFor(entry, results[i] ?? 'lost'))
        left = []
      } catch (error) {
        if (failures === 0) this.#stuck += 1
        failures += 1
        this.#parts.onFailure(error)
        left = this.#retryable(left)
        const pauseMs = exponentialMs(PAUSE, failures, this.#parts.random.next())
        if (left.length > 0) await sleep(this.#parts.clock, pauseMs, this.#ending.signal)
      }
      if (left.length === 0 && failures > 0) {
        this.#stuck -= 1
        if (this.#stuck === 0) this.#parts.onRecovered()
      }
    }
  }

  /** What is worth another try; the rest hears that we gave up. */
  #retryable(batch: readonly Entry[]): readonly Entry[] {
    const now = this.#parts.clock.monotonic()
    return batch.filter((entry) => {
      entry.tries += 1
      const isWorthIt = !this.#ending.signal.aborted && now < entry.givesUpAt()
      if (!isWorthIt) entry.answered('gave up')
      return isWorthIt
    })
  }
}

function answerFor(entry: Entry, result: SettleResult): SettleAnswer {
  return result === 'lost' && entry.tries > 0 ? 'maybe' : result
}

export function settlementFor({ id, token, topic }: LeaseRef, outcome: Outcome): Settlement {
  switch (outcome.kind) {
    case 'ack':
      return { kind: 'ack', id, token, topic }
    case 'release':
      return { kind: 'release', id, token, topic }
    case 'retry':
      return { kind: 'retry', id, token, topic, delayMs: outcome.delayMs, error: outcome.error }
    case 'dead':
      return { kind: 'dead', id, token, topic, reason: outcome.reason, error: outcome.error }
    default:
      return assertNever(outcome)
  }
}
