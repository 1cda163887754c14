/**
 * One connection to the primary, from the first byte to its loss. Several hosts are tried in turn; one that is a standby,
 * or too old, does not count. Queries are pipelined: each is a transaction of its own, answered in order.
 */
import { Socket } from 'node:net'
import { UnavailableError, UsageError } from '../../../core/errors.ts'
import type { LinkConnection } from '../../link/link.ts'
import { refuseUnsuited, type Consent } from '../../shared/suited.ts'
import {
  loadPg,
  parsersOf,
  type PgClient,
  type PgNotification,
  type PgPackage,
  type PgQuery,
} from './client.ts'
import { PRODUCTS } from './products.ts'

export const VERSION_NEEDED = 140_000

export type ConnectionTarget = {
  /** One for each host, as `pg` reads them. */
  readonly urls: readonly string[]
  readonly connectTimeoutMs: number
  readonly allowed: readonly Consent[]
  /** False where several queries on their way would confuse: migrations. */
  readonly isPipelined?: boolean
}

/** Every server that speaks the protocol answers this; what follows may be refused by one that is no PostgreSQL. */
const WHAT_IS_THERE: PgQuery = { text: 'select version() as banner' }
const WHO_IS_THERE: PgQuery = {
  text: `select pg_is_in_recovery() as standby, current_setting('server_version_num')::int as version, pg_backend_pid() as pid,
    array(select 'function ' || proname from pg_catalog.pg_proc where proname = 'aurora_version')
    || array(select 'extension ' || extname from pg_catalog.pg_extension where extname = 'citus') as marks`,
}
type WhoIsThere = {
  readonly standby: boolean
  readonly version: number
  readonly pid: number
  readonly marks: readonly string[]
}

export class PostgresConnection implements LinkConnection<PgQuery> {
  readonly #target: ConnectionTarget
  readonly #name: string
  readonly #lost: (error: unknown) => void
  readonly #heard: (heard: PgNotification) => void
  #client: PgClient | undefined
  #socket: Socket | undefined
  #isOpen = false
  #isDestroyed = false
  /** Of the server's process for this connection. Behind a pooler, of some connection. */
  pid = 0

  constructor(
    target: ConnectionTarget,
    name: string,
    lost: (error: unknown) => void,
    heard: (heard: PgNotification) => void = () => undefined,
  ) {
    this.#target = target
    this.#name = name
    this.#lost = lost
    this.#heard = heard
  }

  async open(): Promise<void> {
    const pg = await loadPg()
    const failures: unknown[] = []
    for (const url of this.#target.urls) {
      if (this.#isDestroyed) break
      try {
        return await this.#openAt(pg, url)
      } catch (error) {
        failures.push(error)
        this.#socket?.destroy()
      }
    }
    // The last host's reason: of a single host the only one, of several the standby's or the one that is away.
    const last = failures.at(-1)
    throw (
      (last as Error | undefined) ?? new UnavailableError('STORE_UNAVAILABLE', 'the connection was given up.')
    )
  }

  async send(query: PgQuery): Promise<readonly unknown[]> {
    const client = this.#client
    if (client === undefined || this.#isDestroyed)
      throw new UnavailableError('STORE_UNAVAILABLE', 'the connection is closed.')
    const { rows } = await client.query(query)
    return rows
  }

  destroy(): void {
    this.#isDestroyed = true
    this.#socket?.destroy()
  }

  unref(): void {
    this.#client?.unref()
  }

  async #openAt(pg: PgPackage, url: string): Promise<void> {
    const { connectTimeoutMs, urls, isPipelined = true } = this.#target
    const socket = new Socket()
    this.#socket = socket
    const client = new pg.Client({
      connectionString: url,
      pipeline: isPipelined,
      application_name: this.#name,
      keepAlive: true,
      connectionTimeoutMillis: Math.ceil(connectTimeoutMs / urls.length),
      types: parsersOf(pg),
      // A socket of our own, so that a connection that does not answer can be ended at once.
      stream: () => socket,
    })
    client.on('error', (error) => this.#ended(client, error))
    client.on('end', () => this.#ended(client, new Error('the server closed the connection')))
    client.on('notification', this.#heard)
    await client.connect()
    const row = await this.#askWho(client)
    if (row.version < VERSION_NEEDED) {
      throw new UsageError(
        'STORE_REFUSED',
        `this PostgreSQL has version ${Math.floor(row.version / 10_000)}; punctual needs 14 or newer.`,
        { value: row.version },
      )
    }
    if (row.standby)
      throw new UnavailableError(
        'STORE_UNAVAILABLE',
        'this PostgreSQL is a standby and takes no writes; if no failover is under way, point the URL at the primary.',
      )
    if (this.#isDestroyed) throw new UnavailableError('STORE_UNAVAILABLE', 'the connection was given up.')
    this.pid = row.pid
    this.#client = client
    this.#isOpen = true
  }

  /** In one round trip where queries are pipelined. */
  async #askWho(client: PgClient): Promise<WhoIsThere> {
    const { allowed } = this.#target
    const asked = client.query(WHO_IS_THERE)
    // Awaited below, unless the server is refused before that.
    asked.catch(() => undefined)
    const [what] = (await client.query(WHAT_IS_THERE)).rows as [{ banner: string }]
    refuseUnsuited(PRODUCTS, [`version ${what.banner}`], allowed)
    const [who] = (await asked).rows as [WhoIsThere]
    refuseUnsuited(PRODUCTS, who.marks, allowed)
    return who
  }

  #ended(client: PgClient, error: unknown): void {
    if (!this.#isOpen || this.#isDestroyed || client !== this.#client) return
    this.#isDestroyed = true
    this.#socket?.destroy()
    this.#lost(error)
  }
}
