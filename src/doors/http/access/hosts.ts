/**
 * Which `Host` a server answers to. A page of another site can make a browser send requests to this machine under a name of
 * its own (DNS rebinding); the name in `Host` gives that away. So a server without tokens answers only to loopback names.
 */
import { isIP } from 'node:net'

const LOOPBACK_NAMES = new Set(['localhost', '127.0.0.1', '::1'])

/** `host:port` without the port, in small letters, without brackets. */
export function hostName(host: string): string {
  const match = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(host)
  return (match?.[1] ?? match?.[2] ?? '').toLowerCase()
}

export function isLoopbackAddress(address: string): boolean {
  const name = hostName(isIP(address) === 6 ? `[${address}]` : address)
  return LOOPBACK_NAMES.has(name) || (isIP(name) === 4 && name.startsWith('127.'))
}

export class HostCheck {
  readonly #allowed: ReadonlySet<string>
  /** Tokens protect the server whatever the name: a rebound page has none. */
  readonly #isOpenToAll: boolean

  constructor(allowed: readonly string[], hasTokens: boolean) {
    this.#allowed = new Set(allowed.map((name) => name.toLowerCase()))
    this.#isOpenToAll = hasTokens && allowed.length === 0
  }

  accepts(host: string | undefined): boolean {
    if (this.#isOpenToAll) return true
    const name = hostName(host ?? '')
    return this.#allowed.has(name) || isLoopbackAddress(name)
  }
}
