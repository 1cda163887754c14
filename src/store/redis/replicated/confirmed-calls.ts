/**
 * Calls that are answered only when enough replicas have what they wrote.
 *
 *   turn 1   put, settle ──►  EVALSHA EVALSHA fence WAIT ──► replicas have it ──► both answered
 *   turn 2   put, put ─ held back, the server would not read them ─►  EVALSHA EVALSHA fence WAIT ──► …
 *
 * WAIT speaks of what its own connection wrote before, so that it goes out right behind the calls on the same one.
 * Were it sent on another, a failover in between could let the new primary confirm what only the old one has.
 *
 * WAIT blocks its connection until the replicas answer. So these calls have a connection of their own, and one WAIT at
 * a time: whatever is called meanwhile goes out together afterwards and shares the next one. A call thus waits for two
 * of them at most, however many there are.
 *
 * The fence is a write that changes nothing. WAIT promises something about the writes of its connection only (older
 * servers do more), and a repeated put, which finds its message there, writes nothing: without the fence, WAIT could
 * confirm at once what no replica has. Partitions that share the connection have a fence each: one that the cluster is
 * moving refuses its own, and that says nothing about the others.
 */
import type { Clock } from '../../../clock.ts'
import { UnavailableError, UsageError } from '../../../core/errors.ts'
import { Gatherer } from '../../../core/gathering.ts'
import { CALLS_MAX, type Link } from '../link/link.ts'
import { refusalWord, UNDONE } from '../link/refusals.ts'

/** The first write needs no memory, so that a full server allows the second: work can still be finished there. */
const FENCE = `
redis.call('HDEL', KEYS[2], '')
return redis.call('SET', KEYS[1], redis.call('GET', KEYS[1]) or '')`
/** For the answer of WAIT to travel, after its own timeout. */
const TRAVEL_MS = 500

export type Confirmation = { readonly replicas: number; readonly timeoutMs: number }

export type ConfirmedCallsOptions = Confirmation & {
  /** How many fences there may be. */
  readonly fencesMax: number
  readonly server: string
  readonly callTimeoutMs: number
  readonly clock: Clock
}

/** A text and a hash in the slot of the call: see FENCE. */
export type Fence = readonly [text: string, hash: string]

type HeldCall = {
  readonly fence: Fence
  readonly command: readonly string[]
  readonly calledAt: number
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: unknown) => void
}

export class ConfirmedCalls {
  readonly #link: Link
  readonly #options: ConfirmedCallsOptions
  readonly #turn: Gatherer<HeldCall>
  /** Handed over and not sent: in this turn, or held back. */
  #waiting = 0
  #heldBack: HeldCall[] = []
  #isUnderWay = false

  constructor(link: Link, options: ConfirmedCallsOptions) {
    this.#link = link
    this.#options = options
    this.#turn = new Gatherer({
      entriesMax: this.#most,
      bytesMax: Infinity, // Each call is bounded by itself, and they go out one by one.
      sizeOf: () => 0,
      atTurnEnd: (run) => process.nextTick(run),
      send: (calls) => void this.#sendAfterOthers(calls),
    })
  }

  /** With room for fences and WAIT: were the link to refuse these, all that was written would count as failed. */
  get #most(): number {
    return CALLS_MAX - this.#options.fencesMax - 1
  }

  /** Rejects where this user may not wait for replicas: better now than after the first write. */
  async open(): Promise<void> {
    try {
      await this.#link.call(['WAIT', '0', '1'])
    } catch (error) {
      // A replica refuses to wait for replicas; after a failover the same address leads to the primary.
      if (!(error instanceof UsageError) || refusalWord(error.cause) !== 'ERR') throw error
      throw new UnavailableError('STORE_UNAVAILABLE', error.message, { cause: error })
    }
  }

  close(): void {
    this.#link.close()
  }

  call(command: readonly string[], fence: Fence): Promise<unknown> {
    const { clock, server } = this.#options
    if (this.#waiting >= this.#most) {
      const text = `${server}: ${this.#most} calls wait for replicas already.`
      return Promise.reject(new UnavailableError('STORE_UNAVAILABLE', text))
    }
    this.#waiting += 1
    return new Promise((resolve, reject) => {
      this.#turn.add({ command, fence, calledAt: clock.monotonic(), resolve, reject })
    })
  }

  /** Never rejects: each caller hears of its own call. */
  async #sendAfterOthers(calls: readonly HeldCall[]): Promise<void> {
    this.#heldBack.push(...calls)
    if (this.#isUnderWay) return
    this.#isUnderWay = true
    while (this.#heldBack.length > 0) {
      const entries = this.#heldBack
      this.#heldBack = []
      this.#waiting -= entries.length
      await this.#send(entries)
    }
    this.#isUnderWay = false
  }

  async #send(entries: readonly HeldCall[]): Promise<void> {
    const { replicas, timeoutMs } = this.#options
    const fences = new Map(entries.map(({ fence }) => [fence[0], fence]))
    const commands = [
      ...entries.map(({ command }) => command),
      ...[...fences.values()].map((keys) => ['EVAL', FENCE, '2', ...keys]),
      ['WAIT', String(replicas), String(timeoutMs)],
    ]
    const answers = await Promise.allSettled(this.#link.callTogether(commands, this.#patienceMs(entries)))
    const wait = answers.at(-1)
    const shortfalls = new Map(
      [...fences.keys()].map((key, i) => [key, this.#shortfall([answers[entries.length + i], wait])]),
    )
    for (const [i, entry] of entries.entries()) {
      const answer = answers[i]
      const shortfall = shortfalls.get(entry.fence[0])
      if (answer?.status !== 'fulfilled') entry.reject(answer?.reason)
      else if (shortfall === undefined) entry.resolve(answer.value)
      else entry.reject(shortfall)
    }
  }

  /** The time spent held back counts, but WAIT must be able to end by itself: unanswered, it costs the connection. */
  #patienceMs([oldest]: readonly HeldCall[]): number {
    const { callTimeoutMs, timeoutMs, clock } = this.#options
    const heldMs = oldest === undefined ? 0 : clock.monotonic() - oldest.calledAt
    return Math.max(callTimeoutMs + timeoutMs - heldMs, timeoutMs + TRAVEL_MS)
  }

  /** Why what was written cannot be called safe; undefined when it can. */
  #shortfall([fence, wait]: readonly (PromiseSettledResult<unknown> | undefined)[]):
    UnavailableError | undefined {
    const failed = [fence, wait].find((answer) => answer?.status !== 'fulfilled')
    if (failed?.status === 'rejected') {
      const cause: unknown = failed.reason
      // That the fence was not done must not look as if the call was not: it would be sent again.
      if (cause instanceof UnavailableError && !UNDONE.has(refusalWord(cause.cause))) return cause
      const text = cause instanceof Error ? cause.message : String(cause)
      return this.#unreplicated(`the replicas could not be asked (${text})`, cause)
    }
    const { replicas, timeoutMs } = this.#options
    const confirmed = wait?.status === 'fulfilled' ? Number(wait.value) : 0
    if (confirmed >= replicas) return undefined
    return this.#unreplicated(`${confirmed} of ${replicas} replicas had it within ${timeoutMs} ms`)
  }

  #unreplicated(what: string, cause?: unknown): UnavailableError {
    return new UnavailableError(
      'STORE_UNREPLICATED',
      `${this.#options.server}: the primary took the call, but ${what}. Whether a failover keeps it is unknown: try again, with the same id, and look at the replicas.`,
      { cause },
    )
  }
}
