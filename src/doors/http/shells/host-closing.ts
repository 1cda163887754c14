/**
 * Whether the server of the host application is being closed. Node's `close` waits for every open answer and tells nothing
 * before the last one ends, so an answer that stays open would keep the host from stopping. While at least one stays open,
 * its server is looked at four times a second; a server without such answers is never looked at.
 */
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../../clock.ts'

const LOOK_MS = 250

type HostServer = { readonly listening: boolean }

export class HostClosing {
  readonly #clock: Clock
  /** By server: what is open, each with how to end it. */
  readonly #open = new Map<HostServer, Set<() => void>>()
  #isLooking = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls `tell` once the request's server closes. Returns how to stop looking. */
  watch(request: IncomingMessage, tell: () => void): () => void {
    const server = serverOf(request)
    if (server === undefined) return () => undefined
    const open = this.#open.get(server) ?? new Set()
    this.#open.set(server, open.add(tell))
    this.#lookSoon()
    return () => {
      open.delete(tell)
      if (open.size === 0 && this.#open.get(server) === open) this.#open.delete(server)
    }
  }

  #lookSoon(): void {
    if (this.#isLooking || this.#open.size === 0) return
    this.#isLooking = true
    this.#clock.schedule(LOOK_MS, () => this.#look())
  }

  #look(): void {
    this.#isLooking = false
    for (const [server, open] of this.#open) {
      if (server.listening) continue
      this.#open.delete(server)
      for (const tell of open) tell()
    }
    this.#lookSoon()
  }
}

/** Its connection must not be kept for another request then: `close` would wait for it. */
export function isHostClosing(request: IncomingMessage): boolean {
  return serverOf(request)?.listening === false
}

/** Node sets it on each connection that a server has accepted; what imitates a connection may have none, or no connection. */
function serverOf(request: IncomingMessage): HostServer | undefined {
  const socket = request.socket as IncomingMessage['socket'] | null
  if (socket === null || !('server' in socket)) return undefined
  const { server } = socket
  return typeof server === 'object' && server !== null && 'listening' in server
    ? (server as HostServer)
    : undefined
}
