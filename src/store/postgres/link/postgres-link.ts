/** The link to a PostgreSQL: commands are queries. How it connects, waits and fails: `store/link`. */
import { StoreLink, type StoreLinkOptions } from '../../link/link.ts'
import type { Consent } from '../../shared/suited.ts'
import type { PgNotification, PgQuery } from './client.ts'
import { PostgresConnection, type ConnectionTarget } from './connection.ts'
import { REFUSALS } from './refusals.ts'

type Given = Omit<StoreLinkOptions<PgQuery, PostgresConnection>, 'failures' | 'connect'>

export type PostgresLinkOptions = Given & {
  readonly urls: readonly string[]
  readonly allowed: readonly Consent[]
  readonly heard?: (heard: PgNotification) => void
}

export class PostgresLink extends StoreLink<PgQuery, PostgresConnection> {
  constructor({ urls, allowed, heard, ...options }: PostgresLinkOptions) {
    const target: ConnectionTarget = { urls, allowed, connectTimeoutMs: options.connectTimeoutMs }
    super({
      ...options,
      failures: REFUSALS,
      connect: (name, lost) => new PostgresConnection(target, name, lost, heard),
    })
  }
}
