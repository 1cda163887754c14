/** A PostgreSQL by its URL, for what is asked and done without a store: `sql/server/server`. */
import { describe } from '../../core/errors.ts'
import { readTimeouts } from '../shared/url-options.ts'
import type { SqlServer } from '../sql/server/server.ts'
import { parsePostgresUrl } from './address/url.ts'
import { PostgresConnection } from './link/connection.ts'
import { PostgresLink } from './link/postgres-link.ts'
import { REFUSALS } from './link/refusals.ts'
import { migrate, migrationText, readSchema, tablesOf } from './migration.ts'
import { SCHEMA_DEFAULT } from './open.ts'

export function serverAt(url: string): SqlServer {
  const { urls, server, settings } = parsePostgresUrl(url)
  const { schema = SCHEMA_DEFAULT, allowed = [] } = settings
  const timeouts = readTimeouts(settings)
  return {
    tables: tablesOf(schema, server),
    timeouts,
    refusals: REFUSALS,
    software: 'PostgreSQL',
    absence: `${server} has no schema ${describe(schema)} with tables of punctual; look at the name of the database and at ?schema=, or make it with "punctual migrate"`,
    attempt: (connectTimeoutMs) =>
      new PostgresConnection({ urls, allowed, connectTimeoutMs }, 'punctual:probe', () => undefined),
    ask: (options) => {
      const link = new PostgresLink({ ...options, urls, allowed })
      return {
        readSchema: () => readSchema(schema, (query) => link.call(query)),
        queueNames: async (max) => {
          const rows = await link.call({
            text: `select name from "${schema}".queue order by name limit ${max}`,
          })
          return (rows as readonly { name: string }[]).map(({ name }) => name)
        },
        close: () => link.close(),
      }
    },
    migrate: (logger) => migrate({ urls, allowed, server, logger, schema, ...timeouts }),
    // In one transaction, as we send it: a statement that fails leaves nothing half done.
    migrationText: () => `begin;\n\n${migrationText(schema)}\ncommit;\n`,
  }
}
