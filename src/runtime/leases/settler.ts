/**
 * Tells the store how attempts ended, in batches: whatever ends in one turn of the event loop is one call. On stores
 * where a call costs something, a few settlements wait for more, but not for long.
 *
 * A settlement that fails is tried again, with growing pauses, for as long as the worker lives: the fence makes a late
 * answer harmless, and one that still counts saves a repetition. It is never taken for a failure of the handler. While
 * an outage keeps settlements here, the dispatcher fetches nothing new. A failure that is no outage is the fault of one
 * entry: then each goes alone, what fails does not keep the others from being heard, and is given up after a while.
 *
 * If we die here: the lease lapses, and the reaper of another process decides.
 */
import { setMaxListeners } from 'node:events'
import { sleep, type Clock, type Timer } from '../../clock.ts'
import { exponentialMs, type Exponential } from '../../core/machines/backoff.ts'
import { assertNever, isUnavailable } from '../../core/errors.ts'
import type { Outcome } from '../../core/machines/outcome.ts'
import { cutBatches, type BatchLimits } from '../../core/gathering.ts'
import type { Random } from '../../random.ts'
import { entriesOfSettlement, sizeOfSettlement } from '../../store/contract/sizes.ts'
import type { LeaseRef, SettleResult, Settlement, Store } from '../../store/contract/store.ts'

const PAUSE: Exponential = { baseMs: 50, factor: 2, capMs: 2_000, jitter: 0.3 }
/** When a lock is gone we should be there before a lease that lapsed meanwhile is taken over. */
const LOCKED_PAUSE_MS_MAX = 250
/** Fewer than this wait for more, for so long. */
const GATHER_COUNT = 50
const GATHER_MS = 5

/** `gave up`: the store did not answer in time. `maybe`: lost, but an earlier try may have been what settled it. */
export type SettleAnswer = Exclude<SettleResult, 'locked'> | 'maybe' | 'gave up'

/** One settlement on its way. */
export interface SettleEntry {
  readonly settlement: Settlement
  tries: number
  /** Monotonic: from when on it is no longer worth trying, unless the store is away. */
  givesUpAt(): number
  /** Somebody's open transaction has the message: it is asked again until that has ended. */
  locked?(): void
  /** A promise where more has to be asked. Never rejects. */
  answered(answer: SettleAnswer): void | Promise<void>
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
  readonly #limits: BatchLimits<SettleEntry>
  readonly #gatherMs: number
  readonly #ending = new AbortController()
  #waiting: SettleEntry[] = []
  #isTurnPlanned = false
  #timer: Timer | undefined
  readonly #underWay = new Set<Promise<void>>()
  #stuck = 0

  constructor(parts: SettlerParts) {
    this.#parts = parts
    const { batchMax, batchBytesMax, leadMs } = parts.store.capabilities
    this.#limits = {
      entriesMax: batchMax,
      bytesMax: batchBytesMax,
      sizeOf: ({ settlement }) => sizeOfSettlement(settlement),
      entriesOf: ({ settlement }) => entriesOfSettlement(settlement),
    }
    this.#gatherMs = leadMs > 0 ? GATHER_MS : 0
    // As many batches may be waiting for their next try as there are handlers; Node warns of a leak from eleven on.
    setMaxListeners(0, this.#ending.signal)
  }

  /** Whether an outage keeps settlements here that still matter. */
  get isStuck(): boolean {
    return this.#stuck > 0
  }

  add(entry: SettleEntry): void {
    this.#waiting.push(entry)
    if (this.#isTurnPlanned) return
    this.#isTurnPlanned = true
    // After everything that this turn still has to say, but before the event loop goes on.
    process.nextTick(() => this.#endTurn())
  }

  /** Sends what waits for more. */
  flush(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    const entries = this.#waiting
    if (entries.length === 0) return
    this.#waiting = []
    for (const batch of cutBatches(entries, this.#limits)) this.#track(this.#send(batch))
  }

  /** Resolves when everything added so far was answered or given up. */
  async drain(): Promise<void> {
    this.flush()
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  /** Gives up what is still unanswered. */
  end(): void {
    this.#ending.abort()
    this.flush()
  }

  #endTurn(): void {
    this.#isTurnPlanned = false
    const { length } = this.#waiting
    if (length >= GATHER_COUNT || this.#gatherMs === 0) this.flush()
    else if (length > 0)
      this.#timer ??= this.#parts.clock.schedule(this.#gatherMs, () => {
        this.#timer = undefined
        this.flush()
      })
  }

  #track(sending: Promise<void>): void {
    this.#underWay.add(sending)
    void sending.finally(() => this.#underWay.delete(sending))
  }

  /** Never rejects. */
  async #send(batch: readonly SettleEntry[]): Promise<void> {
    let left = batch
    let isStuck = false
    const setStuck = (next: boolean): void => {
      if (next !== isStuck) this.#stuck += next ? 1 : -1
      if (isStuck && !next && this.#stuck === 0) this.#parts.onRecovered()
      isStuck = next
    }
    let pauseMsMax = PAUSE.capMs
    for (let failures = 0; left.length > 0; failures += 1) {
      if (failures > 0) await this.#pause(failures, pauseMsMax)
      try {
        left = this.#tell(left, await this.#parts.store.settle(left.map(({ settlement }) => settlement)))
        pauseMsMax = LOCKED_PAUSE_MS_MAX
        setStuck(false)
      } catch (error) {
        this.#parts.onFailure(error)
        const isOutage = isUnavailable(error)
        left = this.#retryable(left, isOutage)
        if (isOutage) setStuck(true)
        else if (left.length > 1) {
          for (const entry of left) this.#track(this.#send([entry]))
          break
        }
        pauseMsMax = PAUSE.capMs
      }
    }
    setStuck(false)
  }

  async #pause(failures: number, msMax: number): Promise<void> {
    const { clock, random } = this.#parts
    await sleep(clock, Math.min(msMax, exponentialMs(PAUSE, failures, random.next())), this.#ending.signal)
  }

  /** Answers which are locked, and are asked again. */
  #tell(batch: readonly SettleEntry[], results: readonly SettleResult[]): readonly SettleEntry[] {
    return batch.filter((entry, i) => {
      const result = results[i] ?? 'lost'
      const isLocked = result === 'locked' && !this.#ending.signal.aborted
      if (isLocked) {
        entry.locked?.()
        return true
      }
      const asking = entry.answered(result === 'locked' ? 'gave up' : answerFor(entry, result))
      if (asking !== undefined) this.#track(asking)
      return false
    })
  }

  /** What is worth another try; the rest hears that we gave up. */
  #retryable(batch: readonly SettleEntry[], isOutage: boolean): readonly SettleEntry[] {
    const now = this.#parts.clock.monotonic()
    return batch.filter((entry) => {
      entry.tries += 1
      const isWorthIt = !this.#ending.signal.aborted && (isOutage || now < entry.givesUpAt())
      if (!isWorthIt) void entry.answered('gave up')
      return isWorthIt
    })
  }
}

function answerFor(entry: SettleEntry, result: Exclude<SettleResult, 'locked'>): SettleAnswer {
  return result === 'lost' && entry.tries > 0 ? 'maybe' : result
}

/** `carried`: what the store keeps with it, where an ack or an `again` has any. Spreads are slow: nearly all are plain acks. */
export function settlementFor(
  { id, token, topic }: LeaseRef,
  outcome: Outcome,
  carried?: Pick<Extract<Settlement, { kind: 'again' }>, 'followUps' | 'content'>,
): Settlement {
  switch (outcome.kind) {
    case 'ack':
      if (isPlain(outcome) && carried === undefined) return { kind: 'ack', id, token, topic }
      return {
        ...outcome,
        id,
        token,
        topic,
        ...(carried?.followUps === undefined ? {} : { followUps: carried.followUps }),
      }
    case 'skip':
      return { ...outcome, kind: 'ack', id, token, topic }
    case 'again':
      return outcome.isMoved === true
        ? { kind: 'again', id, token, topic, when: outcome.when, keepsLapses: true }
        : { kind: 'again', id, token, topic, when: outcome.when, ...carried }
    case 'release':
      return { kind: 'release', id, token, topic }
    case 'retry':
    case 'lapse':
    case 'dead':
      return { ...outcome, id, token, topic }
    default:
      return assertNever(outcome)
  }
}

function isPlain({ remember, isOwnWord }: Extract<Outcome, { kind: 'ack' }>): boolean {
  return remember === undefined && isOwnWord === undefined
}
