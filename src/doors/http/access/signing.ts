/**
 * Texts that leave the server and come back: session cookies, lease handles, confirmations of bulk actions. Each is
 * `base64url(content).base64url(HMAC-SHA256(purpose, content))`; the purpose keeps one kind from being used as another.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { Random } from '../../../random.ts'

export type SignedPurpose = 'session' | 'lease' | 'confirm'

const KEY_BYTES = 32

export class Signer {
  readonly #keys: Readonly<Record<SignedPurpose, Buffer>>

  /** `secret` is shared by all servers of a store; without one, what was signed is good for this process alone. */
  constructor(secret: string | undefined, random: Random) {
    const root =
      secret ??
      Buffer.from(Array.from({ length: KEY_BYTES }, () => Math.floor(random.next() * 256))).toString('hex')
    const keyFor = (purpose: SignedPurpose): Buffer =>
      createHash('sha256').update(`punctual ${purpose} ${root}`).digest()
    this.#keys = { session: keyFor('session'), lease: keyFor('lease'), confirm: keyFor('confirm') }
  }

  sign(purpose: SignedPurpose, content: unknown): string {
    const body = Buffer.from(JSON.stringify(content)).toString('base64url')
    return `${body}.${this.#seal(purpose, body).toString('base64url')}`
  }

  /** Undefined: not ours, or changed on the way. */
  read(purpose: SignedPurpose, signed: string): unknown {
    const [body = '', seal = '', ...more] = signed.split('.')
    const given = Buffer.from(seal, 'base64url')
    const right = this.#seal(purpose, body)
    // base64url has several spellings of the same bytes; only the one that we wrote counts.
    const isOurs =
      more.length === 0 &&
      given.length === right.length &&
      timingSafeEqual(given, right) &&
      given.toString('base64url') === seal
    if (!isOurs) return undefined
    return JSON.parse(Buffer.from(body, 'base64url').toString())
  }

  #seal(purpose: SignedPurpose, body: string): Buffer {
    return createHmac('sha256', this.#keys[purpose]).update(body).digest()
  }
}
