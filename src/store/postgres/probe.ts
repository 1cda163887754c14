/** What is asked about a URL before a store is opened, and what is done to one without opening it. */
import { UnavailableError } from '../../core/errors.ts'
import type { Logger } from '../../core/log.ts'
import { parsePostgresUrl, readTimeouts } from './address/url.ts'
import { PostgresConnection } from './link/connection.ts'
import { toPunctualError } from './link/refusals.ts'
import { migrate, migrationText } from './migration.ts'
import { SCHEMA_DEFAULT } from './open.ts'

/** Certain at once; everything else may be slowness, for which the link has its patience. */
const CERTAIN = /ECONNREFUSED|ENOTFOUND|ENOENT/

/** Resolves unless it is certain that nobody answers. */
export async function probe(url: string): Promise<void> {
  const { urls, server, settings } = parsePostgresUrl(url)
  const target = { urls, connectTimeoutMs: Math.min(readTimeouts(settings).connectTimeoutMs, 1_000) }
  const connection = new PostgresConnection(target, 'punctual:probe', () => undefined)
  try {
    await connection.open()
  } catch (error) {
    const reason = toPunctualError(error, server)
    if (reason.code === 'STORE_CLIENT_MISSING') throw reason
    if (CERTAIN.test((error as NodeJS.ErrnoException).code ?? ''))
      throw new UnavailableError('STORE_UNAVAILABLE', `${reason.message} Does PostgreSQL run there?`, {
        cause: error,
      })
  } finally {
    connection.destroy()
  }
}

export async function migrateUrl(url: string, logger: Logger): Promise<void> {
  const { urls, server, settings } = parsePostgresUrl(url)
  await migrate({
    urls,
    server,
    logger,
    schema: settings.schema ?? SCHEMA_DEFAULT,
    ...readTimeouts(settings),
  })
}

/** In one transaction, as we send it: a statement that fails leaves nothing half done. */
export function migrationOf(url: string): string {
  return `begin;\n\n${migrationText(parsePostgresUrl(url).settings.schema ?? SCHEMA_DEFAULT)}\ncommit;\n`
}
