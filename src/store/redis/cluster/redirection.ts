/** What a node of a cluster says instead of doing a call. All of it is said before anything was done. */
import { refusalWord, UNDONE } from '../link/refusals.ts'
import type { HostPort } from '../sentinel/sentinels.ts'

export type Redirection =
  /** Another node has the slot, from now on. */
  | { readonly kind: 'moved'; readonly slot: number; readonly place: HostPort }
  /** The slot is moving, and another node has what it knows of these keys: for this call only. */
  | { readonly kind: 'ask'; readonly place: HostPort }
  /** The slot is moving, the cluster is deciding, or the node is starting. */
  | { readonly kind: 'wait' }

/** Undefined: the call has failed otherwise. `from`: who said it. */
export function redirectionIn(error: unknown, from: HostPort): Redirection | undefined {
  const said: unknown = error instanceof Error && error.cause !== undefined ? error.cause : error
  const word = refusalWord(said)
  if (!UNDONE.has(word)) return undefined
  if (word !== 'MOVED' && word !== 'ASK') return { kind: 'wait' }
  // MOVED 3999 127.0.0.1:6381; the host is left out where it is the same.
  const [, slot, host = '', port = ''] = /^\w+ (\d+) (.*):(\d+)$/.exec((said as Error).message) ?? []
  if (port === '') return { kind: 'wait' }
  const place = { host: host === '' || host === '?' ? from.host : host, port: Number(port) }
  return word === 'ASK' ? { kind: 'ask', place } : { kind: 'moved', slot: Number(slot), place }
}
