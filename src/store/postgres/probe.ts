/** What is asked about a URL before a store is opened, and what is done to one without opening it. */
import { systemClock } from '../../clock.ts'
import { UnavailableError, describe } from '../../core/errors.ts'
import type { Logger } from '../../core/log.ts'
import { systemRandom } from '../../random.ts'
import type { DoneMigration } from '../engine.ts'
import { parsePostgresUrl } from './address/url.ts'
import { readTimeouts } from '../shared/url-options.ts'
import { PostgresConnection } from './link/connection.ts'
import { PostgresLink } from './link/postgres-link.ts'
import { REFUSALS } from './link/refusals.ts'
import { migrate, migrationText, readSchema, SCHEMA_VERSION } from './migration.ts'
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
    const reason = REFUSALS.toError(error, server)
    if (reason.code === 'STORE_CLIENT_MISSING') throw reason
    if (CERTAIN.test((error as NodeJS.ErrnoException).code ?? ''))
      throw new UnavailableError('STORE_UNAVAILABLE', `${reason.message} Does PostgreSQL run there?`, {
        cause: error,
      })
  } finally {
    connection.destroy()
  }
}

/** Whether tables of ours are there, of whichever version. */
export async function isMigrated(url: string): Promise<boolean> {
  const { urls, server, settings } = parsePostgresUrl(url)
  const link = new PostgresLink({
    clock: systemClock,
    random: systemRandom,
    logger: { warn: () => undefined, error: () => undefined }, // What fails is thrown.
    ...readTimeouts(settings),
    urls,
    server,
    name: 'punctual:probe',
  })
  try {
    return (await readSchema(settings.schema ?? SCHEMA_DEFAULT, (query) => link.call(query))) !== undefined
  } catch (error) {
    throw REFUSALS.toError(error, server)
  } finally {
    link.close()
  }
}

export function absenceOf(url: string): string {
  const { server, settings } = parsePostgresUrl(url)
  const schema = settings.schema ?? SCHEMA_DEFAULT
  return `${server} has no schema ${describe(schema)} with tables of punctual; look at the name of the database and at ?schema=, or make it with "punctual migrate"`
}

export async function migrateUrl(url: string, logger: Logger): Promise<DoneMigration | undefined> {
  const { urls, server, settings } = parsePostgresUrl(url)
  const schema = settings.schema ?? SCHEMA_DEFAULT
  const from = await migrate({ urls, server, logger, schema, ...readTimeouts(settings) })
  return from === undefined ? undefined : { what: `the schema ${schema}`, from, to: SCHEMA_VERSION }
}

/** In one transaction, as we send it: a statement that fails leaves nothing half done. */
export function migrationOf(url: string): string {
  return `begin;\n\n${migrationText(parsePostgresUrl(url).settings.schema ?? SCHEMA_DEFAULT)}\ncommit;\n`
}
