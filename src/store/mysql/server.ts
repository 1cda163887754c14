/** A MySQL or MariaDB by its URL, for what is asked and done without a store: `sql/server/server`. */
import { readTimeouts } from '../shared/url-options.ts'
import type { SqlServer } from '../sql/server/server.ts'
import { parseMysqlUrl } from './address/url.ts'
import { MysqlConnection } from './link/connection.ts'
import { MysqlLink } from './link/mysql-link.ts'
import { REFUSALS } from './link/refusals.ts'
import { migrate, migrationText, readSchema, tablesAt } from './migration.ts'
import { sql, textOf, type SqlRow } from './sql/statement.ts'

export function serverAt(url: string): SqlServer {
  const { address, server, settings } = parseMysqlUrl(url)
  const timeouts = readTimeouts(settings)
  return {
    tables: tablesAt(server),
    timeouts,
    refusals: REFUSALS,
    software: 'MySQL or MariaDB',
    absence: `${server} has no tables of punctual; look at the name of the database, or make them with "punctual migrate"`,
    attempt: (connectTimeoutMs) => new MysqlConnection({ address, connectTimeoutMs }, () => undefined),
    ask: (options) => {
      const link = new MysqlLink({ ...options, address })
      return {
        readSchema: async () => (await link.call(readSchema)) as Awaited<ReturnType<typeof readSchema>>,
        queueNames: async (max) => {
          const names = sql`select name from punctual_queue order by name limit ${max}`
          const [rows = []] = (await link.call((send) => send([names]))) as readonly (readonly SqlRow[])[]
          return rows.map((row) => textOf(row['name']))
        },
        close: () => link.close(),
      }
    },
    migrate: (logger) => migrate({ address, server, logger, ...timeouts }),
    migrationText: () => migrationText(),
  }
}
