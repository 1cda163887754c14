/**
 * Keeps leases alive: three times per lease, all that need it, in batches. Tells the consumers of every lease that is
 * lost, and of those that are over by our clock while the store does not answer.
 *
 * Leases of one claim share a token, and a store may keep one end for all of them: so a call that extends one of them names
 * all that are still held under its token. The batches go side by side, each for itself: one after the other, thousands
 * of handlers on a slow store would outlast their leases, and a batch that fails would keep those behind it from being
 * sent at all.
 *
 * What was handed out to others may have been promised for longer than a lease of ours lasts: then the store is asked for so
 * much at once, because they count on it also when this process is dead.
 *
 * A process that stood still finds leases over by its clock that the store may still extend, so that only an answer, or
 * its absence, casts doubt: on those whose extension failed, and on those that wait for one since before this tick.
 * While we live, a lapsed lease of ours is taken over by us alone, unless another worker was first: so we go on trying.
 */
import type { Clock, Timer } from '../../clock.ts'
import { holdsLease } from '../../core/machines/run.ts'
import type { Store } from '../../store/contract/store.ts'
import { leaseEnd, type Run } from '../runs/run.ts'

/** After a failure the next try comes sooner: a tenth of the lease, but never more often than this. */
const RETRY_MS_MIN = 250
/** Terms beyond our lease are multiples of this. */
const TERM_MS = 5_000

export type KeeperParts = {
  readonly clock: Clock
  readonly store: Store
  readonly leaseMs: number
  /** All that are not over, of all partitions. */
  readonly runs: () => ReadonlySet<Run>
  /** Whether this keeper's store holds the lease. */
  readonly isOwn: (run: Run) => boolean
  readonly onLost: (run: Run) => void
  readonly onCancelling: (run: Run) => void
  readonly onDoubt: (run: Run) => void
  readonly onFailure: (error: unknown) => void
}

export class Keeper {
  readonly #parts: KeeperParts
  #timer: Timer | undefined
  /** Monotonic; when the timer is due. */
  #ticksAt = Infinity
  #isRunning = false
  /** More time was asked for, and no answer came yet. */
  readonly #asked = new Set<Run>()

  constructor(parts: KeeperParts) {
    this.#parts = parts
  }

  start(): void {
    this.#isRunning = true
  }

  stop(): void {
    this.#isRunning = false
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** There is something to watch over. Sleeps while there is not. */
  watch(): void {
    if (this.#timer === undefined) this.#plan(this.#parts.leaseMs / 3)
  }

  /**
   * A handler wants its lease renewed at once. Resolves to true while the lease lives by our clock, and leaves the
   * trying to the tick; else the store's answer decides.
   */
  async renew(run: Run): Promise<boolean> {
    const { clock } = this.#parts
    const isAlive = clock.monotonic() < run.leaseEndsAt
    const asking = this.#asked.has(run) ? undefined : this.#ask([run])
    if (!isAlive) await asking
    return run.state.name === 'running' && (isAlive || clock.monotonic() < run.leaseEndsAt)
  }

  /**
   * The store says that leases of ours have lapsed, or that something is to be cancelled, which an extension tells: all
   * that we hold are extended, whatever our clock says.
   */
  renewAll(): void {
    void this.#ask(this.#held().filter((run) => !this.#asked.has(run)))
  }

  /** The timer only ever moves earlier: batches that fail one after the other must not put the tick off. */
  #plan(delayMs: number): void {
    const { clock } = this.#parts
    const at = clock.monotonic() + delayMs
    if (!this.#isRunning || (this.#timer !== undefined && this.#ticksAt <= at)) return
    this.#timer?.cancel()
    this.#ticksAt = at
    this.#timer = clock.schedule(delayMs, () => {
      this.#timer = undefined
      this.#tick()
    })
  }

  #tick(): void {
    const { clock, leaseMs, runs } = this.#parts
    const unanswered = [...this.#asked]
    const soon = clock.monotonic() + (leaseMs * 3) / 4
    const isNeedy = (run: Run): boolean => run.leaseEndsAt < Math.max(soon, run.promisedUntil)
    void this.#ask(this.#held().filter((run) => isNeedy(run) && !this.#asked.has(run)))
    // Timers come before what lies in the sockets: after a standstill the answers are there, and are heard first.
    if (unanswered.length > 0)
      clock.soon(() => this.#doubtTheOverdue(unanswered.filter((run) => this.#asked.has(run))))
    if (runs().size > 0) this.#plan(leaseMs / 3)
  }

  /** Asks for more time for these, and for all that share their tokens. Never rejects. */
  async #ask(needy: readonly Run[]): Promise<void> {
    if (needy.length === 0) return
    const { batchMax } = this.#parts.store.capabilities
    const sending: Promise<void>[] = []
    for (const [termMs, groups] of this.#byTerm(this.#byToken(needy)))
      for (const batch of inBatches(groups, batchMax)) sending.push(this.#send(batch, termMs))
    await Promise.all(sending)
  }

  /** For how long each group is to be extended: our lease, or what the longest of it was promised for. */
  #byTerm(groups: readonly (readonly Run[])[]): ReadonlyMap<number, readonly (readonly Run[])[]> {
    const { clock, leaseMs } = this.#parts
    const now = clock.monotonic()
    const byTerm = new Map<number, (readonly Run[])[]>()
    for (const group of groups) {
      const neededMs = group.reduce((most, run) => Math.max(most, run.promisedUntil - now), 0)
      // Rounded, so that those that end about together are extended together.
      const termMs = neededMs < leaseMs ? leaseMs : (Math.floor(neededMs / TERM_MS) + 1) * TERM_MS
      const same = byTerm.get(termMs)
      if (same === undefined) byTerm.set(termMs, [group])
      else same.push(group)
    }
    return byTerm
  }

  /** Never rejects. */
  async #send(batch: readonly Run[], termMs: number): Promise<void> {
    const { clock, leaseMs, onFailure, runs } = this.#parts
    const sentAt = clock.monotonic()
    for (const run of batch) this.#asked.add(run)
    try {
      await this.#extend(batch, termMs)
      // A late answer has used up much of what it grants, and a tick in between passed these over.
      if (runs().size > 0) this.#plan(Math.max(0, sentAt + leaseMs / 2 - clock.monotonic()))
    } catch (error) {
      onFailure(error)
      this.#doubtTheOverdue(batch)
      if (runs().size > 0) this.#plan(Math.max(RETRY_MS_MIN, leaseMs / 10))
    } finally {
      for (const run of batch) this.#asked.delete(run)
    }
  }

  async #extend(runs: readonly Run[], termMs: number): Promise<void> {
    const { clock, onCancelling, onLost, store } = this.#parts
    const sentAt = clock.monotonic()
    const results = await store.extend(
      runs.map(({ lease: { id, token, topic } }) => ({ id, token, topic })),
      termMs,
    )
    for (const [i, run] of runs.entries()) {
      if (!holdsLease(run.state)) continue
      if (results[i] === 'extended' || results[i] === 'cancelling') {
        run.leaseEndsAt = leaseEnd(sentAt, termMs)
        if (results[i] === 'cancelling') onCancelling(run)
      }
      // One that is just being settled, or was completed in a transaction, is gone because of that, most likely; the
      // settler hears what is true.
      else if (run.state.name !== 'settling' && !run.isJoined) onLost(run)
    }
  }

  #held(): readonly Run[] {
    const { isOwn, runs } = this.#parts
    return [...runs()].filter((run) => holdsLease(run.state) && isOwn(run))
  }

  /** All that we hold under the tokens of these, token by token. */
  #byToken(needy: readonly Run[]): readonly (readonly Run[])[] {
    const groups = new Map<string, Run[]>(needy.map((run) => [run.lease.token, []]))
    for (const run of this.#held()) groups.get(run.lease.token)?.push(run)
    return [...groups.values()]
  }

  /** What was completed in a transaction is gone once that is committed: no answer grants it more time. */
  #doubtTheOverdue(runs: readonly Run[]): void {
    const { clock, onDoubt } = this.#parts
    const now = clock.monotonic()
    for (const run of runs) if (run.leaseEndsAt <= now && !run.isJoined) onDoubt(run)
  }
}

/** Whole groups, as many as fit: a claim hands out no more under one token than a call takes. */
function inBatches(groups: readonly (readonly Run[])[], batchMax: number): readonly (readonly Run[])[] {
  const batches: Run[][] = []
  let last: Run[] = []
  for (const group of groups) {
    if (batches.length === 0 || last.length + group.length > batchMax) {
      last = []
      batches.push(last)
    }
    last.push(...group)
  }
  return batches
}
