/**
 * Confirmations of bulk actions: a dry run hands one out, the same call by the same caller brings it back, once, within its time.
 * They are signed. Those that were used are remembered here until they would have expired; servers that share a key each
 * know of their own.
 */
import type { Clock } from '../../../clock.ts'
import type { Caller } from '../access/caller.ts'
import type { Signer } from '../access/signing.ts'
import type { MatchCount } from './preview.ts'

export type Confirmed = MatchCount & { readonly expiresAt: number }

export class Confirmations {
  readonly #signer: Signer
  readonly #clock: Clock
  /** Until when each would have been good. As many as jobs begin within five minutes. */
  readonly #used = new Map<string, number>()

  constructor(signer: Signer, clock: Clock) {
    this.#signer = signer
    this.#clock = clock
  }

  /** `about`: the queue and the call. */
  make({ name }: Caller, about: string, confirmed: Confirmed): string {
    return this.#signer.sign('confirm', [name, about, confirmed])
  }

  /** Undefined: of another call or caller, expired, used, or not ours. */
  read({ name }: Caller, about: string, confirm: string): Confirmed | undefined {
    const [asker, call, confirmed] = (this.#signer.read('confirm', confirm) ?? []) as [
      string?,
      string?,
      Confirmed?,
    ]
    if (asker !== name || call !== about || confirmed === undefined || this.#used.has(confirm))
      return undefined
    return confirmed.expiresAt > this.#clock.now() ? confirmed : undefined
  }

  use(confirm: string, { expiresAt }: Confirmed): void {
    const now = this.#clock.now()
    for (const [known, until] of this.#used) if (until <= now) this.#used.delete(known)
    this.#used.set(confirm, expiresAt)
  }
}
