/**
 * Claims, and what becomes of those whose answer is lost.
 *
 * A claim can take effect although its reply never arrives. The store then holds leases for us that we do not know of:
 * strays. No handler of ours has seen these messages, so we give them back, uncounted (P6): before the next claim after one
 * that failed, and again whenever the store says that a lease of ours has lapsed, because a call that was given up may still
 * take effect later.
 *
 *   claim ──fails──► suspicious ──next claim──► sweep: ask what the store holds for us, release what we do not hold
 *
 * Danger: what a claim under way is about to hand us looks like a stray. So a sweep waits until no claim is under way,
 * and claims wait until a sweep is over. If we die here: the leases lapse, as all of ours do.
 */
import { isUnavailable } from '../../core/errors.ts'
import { LAPSE_ERROR } from '../../core/machines/outcome.ts'
import type {
  ClaimReply,
  ClaimRequest,
  LeaseRef,
  OwnedLease,
  Settlement,
  Store,
} from '../../store/contract/store.ts'

const NOTHING: ClaimReply = { leases: [], next: { state: 'NO_TASK' } }

export type StraysParts = {
  readonly store: Store
  readonly owner: string
  /** The leases that we know of, whatever becomes of them. */
  readonly held: () => Iterable<LeaseRef>
  /** Some were given back, and no wake-up need tell us of them. */
  readonly onReleased: () => void
}

export class Strays {
  readonly #parts: StraysParts
  #isSuspicious = false
  #isStopped = false
  #claims = 0
  #sweeping: Promise<void> | undefined
  #onQuiet: (() => void) | undefined

  constructor(parts: StraysParts) {
    this.#parts = parts
  }

  /**
   * `take` makes the leases known as ours, before a sweep can look for them. Rejects when the claim fails, or the sweep
   * before it.
   */
  async claim(request: ClaimRequest, take: (reply: ClaimReply) => void): Promise<ClaimReply> {
    if (this.#isSuspicious) await this.sweep()
    else await this.#sweeping
    if (this.#isStopped) return NOTHING
    this.#claims += 1
    try {
      const reply = await this.#parts.store.claim(request)
      take(reply)
      return reply
    } catch (error) {
      // Any other failure says that nothing was handed out.
      if (isUnavailable(error)) this.#isSuspicious = true
      throw error
    } finally {
      this.#claims -= 1
      if (this.#claims === 0) this.#onQuiet?.()
    }
  }

  /** No claim begins after this, not even one that waits for a sweep. */
  stop(): void {
    this.#isStopped = true
  }

  /** Gives back the leases of ours that we do not hold. Those who ask meanwhile share it. */
  sweep(): Promise<void> {
    if (this.#isStopped) return Promise.resolve()
    this.#sweeping ??= this.#sweep().finally(() => {
      this.#sweeping = undefined
    })
    return this.#sweeping
  }

  async #sweep(): Promise<void> {
    this.#isSuspicious = true // Until it has succeeded.
    if (this.#claims > 0) await new Promise<void>((resolve) => (this.#onQuiet = resolve))
    this.#onQuiet = undefined
    const { held, onReleased, owner, store } = this.#parts
    let cursor: string | undefined
    do {
      // Before the question: what is settled while it is under way is still in the answer.
      const known = new Set(Array.from(held(), keyOf))
      const page = await store.owned(owner, cursor)
      const strays = page.leases.filter((lease) => !known.has(keyOf(lease)))
      const { batchMax } = store.capabilities
      for (let from = 0; from < strays.length; from += batchMax)
        await store.settle(strays.slice(from, from + batchMax).map(settlementOf))
      if (strays.length > 0) onReleased()
      cursor = page.cursor
    } while (cursor !== undefined)
    this.#isSuspicious = false
  }
}

/** A handler of ours has seen none of them. But what we took over, a worker had before us: its attempt and lapse count. */
function settlementOf({ id, token, topic, isTakenOver }: OwnedLease): Settlement {
  const lease = { id, token, topic }
  return isTakenOver ? { ...lease, kind: 'lapse', error: LAPSE_ERROR } : { ...lease, kind: 'release' }
}

/** No id has a control character. */
function keyOf({ id, token }: LeaseRef): string {
  return `${id}\n${token}`
}
