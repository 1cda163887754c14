/**
 * Brings a schema to the form that this version reads: the numbered files of `sql/tables` that are missing, then every
 * function. All of it is one transaction under a lock, so that of many processes that start at once one does it and the
 * others wait. Functions carry a version in their names: a process of an older version goes on with its own, as long as
 * `oldest` of the schema allows that version.
 */
import { UsageError } from '../../core/errors.ts'
import type { Logger } from '../../core/log.ts'
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

export type SchemaState = { readonly version: number; readonly oldest: number }

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

/** Throws for a schema that this version cannot use; true when it has to be migrated first. */
export function needsMigration(state: SchemaState | undefined, schema: string): boolean {
  if (state === undefined || state.version < SCHEMA_VERSION) return true
  if (state.oldest > SCHEMA_VERSION) {
    throw new UsageError(
      'STORE_TOO_NEW',
      `the schema ${schema} has version ${state.version}, and this version of punctual knows ${SCHEMA_VERSION}; update punctual.`,
      { value: state.version },
    )
  }
  return false
}

/** Where `migrate=false` forbids it. `value`: the version that is there. */
export function unmigrated(state: SchemaState | undefined, schema: string, server: string): UsageError {
  const what =
    state === undefined
      ? `there is no schema ${schema} with tables of punctual, and migrate=false makes none`
      : `the schema ${schema} has version ${state.version}, and this version of punctual needs ${SCHEMA_VERSION}`
  return new UsageError('STORE_REFUSED', `${server}: ${what}; let its owner run "punctual migrate".`, {
    value: state?.version ?? 0,
  })
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

/** Resolves to the version that was there, 0 for none; undefined where nothing was to be done. */
export async function migrate(options: MigrationOptions): Promise<number | undefined> {
  const { schema, server, logger } = options
  const connection = new PostgresConnection(
    { ...options, isPipelined: false },
    'punctual:migrate',
    () => undefined,
  )
  const send = (text: string, values?: readonly unknown[]): Promise<readonly unknown[]> =>
    connection.send(values === undefined ? { text } : { text, values })
  try {
    await connection.open()
    await send('begin')
    await send("set local lock_timeout = '10s'")
    const lock = `hashtext('punctual.migrate'), hashtext($1)`
    const [tried] = await send(`select pg_try_advisory_xact_lock(${lock}) as got`, [schema])
    if (!(tried as { got: boolean }).got) {
      logger.warn(`${server}: waiting for another process that migrates the schema ${schema}`)
      await send(`select pg_advisory_xact_lock(${lock})`, [schema])
    }
    const [there] = await send('select to_regclass($1) is not null as has', [`"${schema}".migration`])
    const state = (there as { has: boolean }).has
      ? await readSchema(schema, (query) => connection.send(query))
      : undefined
    const isNeeded = needsMigration(state, schema)
    if (isNeeded) {
      if (state !== undefined) logger.info?.(`${server}: migrating the schema ${schema} to ${SCHEMA_VERSION}`)
      await send(migrationText(schema, state?.version ?? 0))
    }
    await send('commit')
    return isNeeded ? (state?.version ?? 0) : undefined
  } catch (error) {
    if (sqlState(error) === '42501') {
      throw new UsageError(
        'STORE_REFUSED',
        `${server}: this user may not create or change the schema ${schema}; let its owner run "punctual migrate", or what "punctual migrate --print" shows.`,
        { cause: error },
      )
    }
    throw REFUSALS.toError(error, server)
  } finally {
    connection.destroy()
  }
}
