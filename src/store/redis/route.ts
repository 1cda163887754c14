/**
 * How a queue reaches the server that has its keys: one connection for calls, one that hears wake-ups, and where replicas
 * confirm what is written, one for that. A partition of a cluster shares them with others: `cluster/`.
 */
import { Link, type LinkOptions } from './link/link.ts'
import { Wakeups, type WakeSource } from './link/wakeups.ts'
import type { Consent } from '../shared/suited.ts'
import { refuseProducts } from './products.ts'
import { confirmedWrites, fenceOf } from './replicated/confirmed-writes.ts'
import type { Durability } from './replicated/durability.ts'
import type { Calls } from './scripts/calls.ts'
import type { QueueKeys } from './scripts/keys.ts'

export type Route = {
  readonly calls: Calls
  /**
   * For what a caller may rely on once it is answered. Claims and extensions are not among it: one that a failover
   * forgets hands its message out again, and waiting for replicas would let leases run out.
   */
  readonly writes: Calls
  readonly wakeups: WakeSource
  /** Rejects where the server is none for a queue, or writes cannot be confirmed as they should be. */
  readonly open: () => Promise<void>
  readonly close: () => void
}

export type RouteOptions = Omit<LinkOptions, 'name' | 'prepare' | 'ready'> & {
  readonly durability: Durability
  readonly allowed: readonly Consent[]
  /** Begins the names of the connections, as CLIENT LIST shows them. */
  readonly name: string
  readonly keys: QueueKeys
  /** The store's name in the watch: its own channel. */
  readonly nonce: string
}

export function serverRoute({ name, keys, nonce, durability, allowed, ...shared }: RouteOptions): Route {
  const link = new Link({ ...shared, name })
  const confirmed = confirmedWrites({ ...shared, name: `${name}:writes` }, durability)?.calls
  const fence = fenceOf(keys)
  const channels = keys.channelsOf(nonce)
  const wakeups = new Wakeups({ ...shared, name: `${name}:wakeups`, channels })
  return {
    calls: link,
    writes: confirmed === undefined ? link : { call: (command) => confirmed.call(command, fence) },
    wakeups,
    open: async () => {
      await refuseProducts(link, allowed)
      await confirmed?.open()
    },
    close: () => {
      wakeups.close()
      confirmed?.close()
      link.close()
    },
  }
}

/** CLIENT SETNAME takes no spaces and no characters beyond ASCII. */
export function clientName(queue: string): string {
  return `punctual:${queue.replaceAll(/[^\x21-\x7e]/g, '_')}`
}
