/**
 * The token of a lease as the runtime holds it: the claim's own token, and the message's stamp.
 *
 *   71.k3v9x2q0/-----0Ik-----0-p1      claim / seq, topic number, priority
 *
 * Only the claim is what fences. The stamp is what a message needs to wait again; whoever gives it back brings it along,
 * so that the server neither keeps it twice nor reads a body, which may be long, to learn it.
 */
import { STAMP_LENGTH } from './payload.ts'

/** `prefix`: what all tokens of one claim begin with. */
export function makeToken(prefix: string, payload: string): string {
  return prefix + payload.slice(0, STAMP_LENGTH).padEnd(STAMP_LENGTH, '-')
}

export function tokenPrefix(claim: string): string {
  return `${claim}/`
}

export function claimOf(token: string): string {
  return token.slice(0, -STAMP_LENGTH - 1)
}

export function stampOf(token: string): string {
  return token.slice(-STAMP_LENGTH)
}
