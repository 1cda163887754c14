/**
 * How a schema is migrated (`sql/server/migrating`): the numbered files of `sql/tables` that are missing, then every function. All of
 * it is one transaction under a lock. Functions carry a version in their names: a process of an older version goes on with
 * its own.
 */
import type { Logger } from '../../core/log.ts'
import { mayNotMigrate, runMigration, type SchemaState, type SqlTables } from '../sql/server/migrating.ts'
import { PostgresConnection, type ConnectionTarget } from './link/connection.ts'
import { REFUSALS, sqlState } from './link/refusals.ts'
import type { PgQuery } from './link/client.ts'
import { FUNCTIONS, TABLES } from './sql/generated.ts'

export const SCHEMA_VERSION = TABLES.length
/** The oldest version of this package's schema that may still be used beside this one. */
const OLDEST = 1

export type MigrationOptions = ConnectionTarget & {
  readonly schema: string
  readonly server: string
  readonly logger: Logger
}

/** Undefined: nothing of ours is there. */
export async function readSchema(
  schema: string,
  query: (query: PgQuery) => Promise<unknown>,
): Promise<SchemaState | undefined> {
  try {
    const rows = (await query({
      text: `select max(version) as version, max(oldest) as oldest from "${schema}".migration`,
    })) as readonly { version: number | null; oldest: number | null }[]
    const [row] = rows
    return row === undefined || row.version === null
      ? undefined
      : { version: row.version, oldest: row.oldest ?? row.version }
  } catch (error) {
    if (REFUSALS.isMissing(error)) return undefined
    throw error
  }
}

/** What `migrate` sends, for a database administrator who runs it himself. */
export function migrationText(schema: string, from = 0): string {
  const steps = TABLES.slice(from).map(
    ({ text }, i) =>
      `${text}\ninsert into punctual.migration (version, oldest) values (${from + i + 1}, ${OLDEST}) on conflict do nothing;`,
  )
  const script = [
    'create schema if not exists punctual;',
    `create table if not exists punctual.migration (
  version int primary key, oldest int not null, applied_at timestamptz not null default now()
);`,
    ...steps,
    ...FUNCTIONS.map(({ text }) => text.trimEnd()),
  ].join('\n\n')
  return `${inSchema(script, schema)}\n`
}

/** The files are written for the schema "punctual". */
function inSchema(text: string, schema: string): string {
  return text
    .replaceAll(/\bpunctual\./g, `"${schema}".`)
    .replaceAll("convert_to('punctual' ||", `convert_to('${schema}' ||`)
    .replaceAll('create schema if not exists punctual;', `create schema if not exists "${schema}";`)
}

/** As `sql/server/migrating` tells it. */
export function tablesOf(schema: string, server: string): SqlTables {
  const name = `the schema ${schema}`
  return {
    version: SCHEMA_VERSION,
    server,
    name,
    has: 'has',
    absent: `there is no schema ${schema} with tables of punctual`,
    changed: name,
    owner: 'its owner',
  }
}

/** Resolves to the version that was there, 0 for none; undefined where nothing was to be done. */
export async function migrate(options: MigrationOptions): Promise<number | undefined> {
  const { schema, server, logger } = options
  const target = { ...options, isPipelined: false }
  const connection = new PostgresConnection(target, 'punctual:migrate', () => undefined)
  const send = (text: string, values?: readonly unknown[]): Promise<readonly unknown[]> =>
    connection.send(values === undefined ? { text } : { text, values })
  const lock = `hashtext('punctual.migrate'), hashtext($1)`
  const tables = tablesOf(schema, server)
  try {
    await connection.open()
    await send('begin')
    await send("set local lock_timeout = '10s'")
    const steps = {
      tryLock: async () => {
        const [tried] = await send(`select pg_try_advisory_xact_lock(${lock}) as got`, [schema])
        return (tried as { got: boolean }).got
      },
      waitForLock: () => send(`select pg_advisory_xact_lock(${lock})`, [schema]),
      readState: async () => {
        // A statement that fails would end the transaction.
        const [there] = await send('select to_regclass($1) is not null as has', [`"${schema}".migration`])
        return (there as { has: boolean }).has
          ? readSchema(schema, (query) => connection.send(query))
          : undefined
      },
      applyFrom: async (version: number) => void (await send(migrationText(schema, version))),
    }
    const before = await runMigration(steps, tables, logger)
    await send('commit')
    return before
  } catch (error) {
    throw sqlState(error) === '42501' ? mayNotMigrate(error, tables) : REFUSALS.toError(error, server)
  } finally {
    connection.destroy()
  }
}
