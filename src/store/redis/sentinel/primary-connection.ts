/**
 * A connection to whichever server is the primary when it is opened: the sentinels are asked, and the server itself
 * confirms it (ROLE). Around a failover the sentinels may still name the old one, or a replica may not have been
 * promoted yet; then opening fails, and `link` tries again.
 */
import { UnavailableError, describe } from '../../../core/errors.ts'
import { connectTo, type Connect, type Connection, type Heard } from '../link/connection.ts'
import type { PrimaryWatch } from './primary-watch.ts'
import type { HostPort, Sentinels } from './sentinels.ts'
import { hostAndPort } from '../address/url.ts'

export type WayToPrimary = {
  readonly sentinels: Sentinels
  readonly watch: PrimaryWatch
}

export function connectToPrimary(way: WayToPrimary): Connect {
  return (name, lost) => new PrimaryConnection(way, name, lost)
}

class PrimaryConnection implements Connection {
  readonly #way: WayToPrimary
  readonly #name: string
  readonly #lost: (error: unknown) => void
  /** What is open right now: to a sentinel first, to the primary then. */
  #current: Connection | undefined
  #unwatch: () => void = () => undefined
  #isDestroyed = false

  constructor(way: WayToPrimary, name: string, lost: (error: unknown) => void) {
    this.#way = way
    this.#name = name
    this.#lost = lost
  }

  async open(): Promise<void> {
    const { sentinels, watch } = this.#way
    const place = await sentinels.findPrimary((connection) => this.#hold(connection))
    const address = { ...sentinels.group.primary, ...place }
    const connection = connectTo(address)(this.#name, this.#lost)
    this.#hold(connection)
    await connection.open()
    refuseReplica(place, await connection.send(['ROLE']))
    if (!this.#isDestroyed) this.#unwatch = watch.add({ place, leave: this.#lost })
  }

  send(command: readonly string[]): Promise<unknown> {
    return this.#opened().send(command)
  }

  subscribe(channel: string, heard: Heard): Promise<void> {
    return this.#opened().subscribe(channel, heard)
  }

  destroy(): void {
    this.#isDestroyed = true
    this.#unwatch()
    this.#current?.destroy()
  }

  unref(): void {
    this.#current?.unref()
  }

  /** If this connection was destroyed while it was being made, nothing more is opened. */
  #hold(connection: Connection): void {
    if (this.#isDestroyed) throw new UnavailableError('STORE_UNAVAILABLE', 'given up while connecting.')
    this.#current = connection
  }

  #opened(): Connection {
    if (this.#current === undefined) throw new UnavailableError('STORE_UNAVAILABLE', 'not connected yet.')
    return this.#current
  }
}

function refuseReplica(place: HostPort, role: unknown): void {
  const [word] = Array.isArray(role) ? (role as unknown[]) : []
  if (word === 'master') return
  throw new UnavailableError(
    'STORE_UNAVAILABLE',
    `${hostAndPort(place)} says that its role is ${describe(word)}, while a sentinel calls it the primary; a failover is under way.`,
  )
}
