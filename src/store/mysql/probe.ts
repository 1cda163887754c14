/** What is asked about a URL before a store is opened, and what is done to one without opening it. */
import { systemClock } from '../../clock.ts'
import { UnavailableError } from '../../core/errors.ts'
import type { Logger } from '../../core/log.ts'
import { systemRandom } from '../../random.ts'
import type { DoneMigration } from '../engine.ts'
import { parseMysqlUrl } from './address/url.ts'
import { readTimeouts } from '../shared/url-options.ts'
import { MysqlConnection } from './link/connection.ts'
import { MysqlLink } from './link/mysql-link.ts'
import { REFUSALS } from './link/refusals.ts'
import { migrate, readSchema, SCHEMA_VERSION } from './migration.ts'

/** Certain at once; everything else may be slowness, for which the link has its patience. */
const CERTAIN = /ECONNREFUSED|ENOTFOUND|ENOENT/

/** Resolves unless it is certain that nobody answers. */
export async function probe(url: string): Promise<void> {
  const { address, server, settings } = parseMysqlUrl(url)
  const target = { address, connectTimeoutMs: Math.min(readTimeouts(settings).connectTimeoutMs, 1_000) }
  const connection = new MysqlConnection(target, () => undefined)
  try {
    await connection.open()
  } catch (error) {
    const reason = REFUSALS.toError(error, server)
    if (reason.code === 'STORE_CLIENT_MISSING') throw reason
    if (CERTAIN.test((error as NodeJS.ErrnoException).code ?? ''))
      throw new UnavailableError('STORE_UNAVAILABLE', `${reason.message} Does MySQL or MariaDB run there?`, {
        cause: error,
      })
  } finally {
    connection.destroy()
  }
}

/** Whether tables of ours are there, of whichever version. */
export async function isMigrated(url: string): Promise<boolean> {
  const { address, server, settings } = parseMysqlUrl(url)
  const link = new MysqlLink({
    clock: systemClock,
    random: systemRandom,
    logger: { warn: () => undefined, error: () => undefined }, // What fails is thrown.
    ...readTimeouts(settings),
    address,
    server,
    name: 'punctual:probe',
  })
  try {
    return (await link.call(readSchema)) !== undefined
  } catch (error) {
    throw REFUSALS.toError(error, server)
  } finally {
    link.close()
  }
}

export function absenceOf(url: string): string {
  const { server } = parseMysqlUrl(url)
  return `${server} has no tables of punctual; look at the name of the database, or make them with "punctual migrate"`
}

export async function migrateUrl(url: string, logger: Logger): Promise<DoneMigration | undefined> {
  const { address, server, settings } = parseMysqlUrl(url)
  const from = await migrate({ address, server, logger, ...readTimeouts(settings) })
  return from === undefined ? undefined : { what: 'the tables', from, to: SCHEMA_VERSION }
}
