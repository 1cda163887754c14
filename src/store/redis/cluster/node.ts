/** The connections to one master, shared by all partitions that live there: for calls, and for writes that replicas confirm. */
import { describeAddress, hostAndPort, type Address } from '../address/url.ts'
import { connectTo } from '../link/connection.ts'
import { Link, type LinkOptions } from '../link/link.ts'
import type { ConfirmedCalls, Fence } from '../replicated/confirmed-calls.ts'
import { confirmedWrites } from '../replicated/confirmed-writes.ts'
import type { Durability } from '../replicated/durability.ts'
import type { HostPort } from '../sentinel/sentinels.ts'

export type NodeOptions = Omit<LinkOptions, 'server' | 'connect' | 'prepare' | 'ready' | 'lost'> & {
  readonly durability: Durability
  readonly partitions: number
  /** A connection came or went. */
  readonly changed: () => void
  readonly lost: () => void
}

/** Which of the connections. */
export type NodeLine = 'calls' | 'writes'

export class ClusterNode {
  readonly place: HostPort
  readonly calls: Link
  readonly #writesLink: Link | undefined
  readonly #confirmed: ConfirmedCalls | undefined

  constructor(address: Address, { durability, partitions, changed, lost, ...options }: NodeOptions) {
    this.place = { host: address.host, port: address.port }
    const shared = {
      ...options,
      server: describeAddress(address),
      connect: connectTo(address),
      ready: changed,
      lost,
    }
    this.calls = new Link(shared)
    const confirmed = confirmedWrites({ ...shared, name: `${options.name}:writes` }, durability, partitions)
    this.#writesLink = confirmed?.link
    this.#confirmed = confirmed?.calls
  }

  get name(): string {
    return hostAndPort(this.place)
  }

  /** Starts to connect where that is not under way. */
  standing(line: NodeLine): 'ready' | 'connecting' | 'away' {
    const link = this.#link(line)
    link.start()
    return link.standing
  }

  /** `fence`: keys of the caller's own, which a write that replicas confirm touches last. */
  call(line: NodeLine, command: readonly string[], timeoutMs: number, fence: Fence): Promise<unknown> {
    if (line === 'writes' && this.#confirmed !== undefined) return this.#confirmed.call(command, fence)
    return this.calls.call(command, timeoutMs)
  }

  /** One call although the slot is not its own yet. */
  async callAsking(command: readonly string[], timeoutMs: number): Promise<unknown> {
    const [asking, reply] = this.calls.callTogether([['ASKING'], command], timeoutMs)
    // Refused or lost, the call behind it tells.
    asking?.catch(() => undefined)
    return reply
  }

  /** Since when, monotonic, a call waits for its answer. */
  get silentSince(): number {
    return Math.min(this.calls.silentSince, this.#writesLink?.silentSince ?? Infinity)
  }

  /** Whether this user may wait for replicas. */
  async open(): Promise<void> {
    await this.#confirmed?.open()
  }

  close(reason?: string): void {
    this.calls.close(reason)
    this.#writesLink?.close(reason)
  }

  #link(line: NodeLine): Link {
    return line === 'writes' ? (this.#writesLink ?? this.calls) : this.calls
  }
}
