/**
 * Servers that speak the protocol of an engine and are something else. Each engine has a list of those that are known
 * (`products.ts`): by what it recognises them, and why a store there is refused. Who knows better says so in the URL.
 */
import { UsageError } from '../../core/errors.ts'
import { readWord } from './url-options.ts'

/** As the URL says it: nothing is proved there, and the user knows; all workers speak to one node at a time. */
export type Consent = 'unproved=true' | 'writer=one'

export type Product = {
  readonly name: string
  /** In what the server says of itself, one fact on each line. */
  readonly sign: RegExp
  /** What follows "this server is NAME:". */
  readonly why: string
  /** With what it is used all the same; absent: with nothing. */
  readonly unless?: Consent
}

/** `said`: what the server says of itself. */
export function refuseUnsuited(
  products: readonly Product[],
  said: readonly string[],
  allowed: readonly Consent[] = [],
): void {
  const text = said.join('\n')
  for (const { name, sign, why, unless } of products) {
    if (!sign.test(text) || (unless !== undefined && allowed.includes(unless))) continue
    throw new UsageError('STORE_UNSUITED', `this server is ${name}: ${why}; ${remedy(unless)}.`, {
      value: name,
    })
  }
}

/** Those of these consents that the URL gives. */
export function readConsents(
  query: URLSearchParams,
  known: readonly Consent[] = ['unproved=true'],
): { readonly allowed?: readonly Consent[] } {
  const allowed = known.filter((consent) => {
    const [name = '', value = ''] = consent.split('=')
    return readWord(query, name, [value]) !== undefined
  })
  return allowed.length === 0 ? {} : { allowed }
}

function remedy(unless: Consent | undefined): string {
  if (unless === undefined) return 'choose another server, docs/compatibility.md lists them'
  return unless === 'writer=one'
    ? 'where all workers and producers speak to one node at a time, say so with ?writer=one in the URL'
    : 'no test of punctual runs there, so use it only with ?unproved=true in the URL'
}
