/**
 * Brings the tables to the form that this version reads. Each statement commits by itself and may be repeated, so that one
 * that was cut off begins again; a lock of the server lets one process do it while the others wait.
 */
import { UsageError } from '../../core/errors.ts'
import type { Logger } from '../../core/log.ts'
import { MysqlConnection, type MysqlTarget, type SendFlight } from './link/connection.ts'
import { errorNumber, REFUSALS } from './link/refusals.ts'
import { numberOrNull, sql, type Statement } from './sql/statement.ts'
import { MIGRATION_TABLE, TABLES } from './sql/tables.ts'

export const SCHEMA_VERSION = TABLES.length
/** The oldest version of this package's tables that may still be used beside this one. */
const OLDEST = 1
const LOCK_S = 60
const DENIED: readonly number[] = [1044, 1142, 1227]

export type MysqlMigration = MysqlTarget & { readonly server: string; readonly logger: Logger }
export type TablesState = { readonly version: number; readonly oldest: number }

/** Undefined: nothing of ours is there. */
export async function readSchema(send: SendFlight): Promise<TablesState | undefined> {
  try {
    const [rows = []] = await send([
      sql`select max(version) as version, max(oldest) as oldest from punctual_migration`,
    ])
    const version = numberOrNull(rows[0]?.['version'])
    return version === null ? undefined : { version, oldest: Number(rows[0]?.['oldest'] ?? version) }
  } catch (error) {
    if (REFUSALS.isMissing(error)) return undefined
    throw error
  }
}

/** Throws for tables that this version cannot use; true when they have to be migrated first. */
export function needsMigration(state: TablesState | undefined, server: string): boolean {
  if (state === undefined || state.version < SCHEMA_VERSION) return true
  if (state.oldest > SCHEMA_VERSION) {
    throw new UsageError(
      'STORE_TOO_NEW',
      `${server}: the tables have version ${state.version}, and this version of punctual knows ${SCHEMA_VERSION}; update punctual.`,
      { value: state.version },
    )
  }
  return false
}

/** Where `migrate=false` forbids it. `value`: the version that is there. */
export function unmigrated(state: TablesState | undefined, server: string): UsageError {
  const what =
    state === undefined
      ? 'there are no tables of punctual, and migrate=false makes none'
      : `the tables have version ${state.version}, and this version of punctual needs ${SCHEMA_VERSION}`
  return new UsageError('STORE_REFUSED', `${server}: ${what}; let one who may run "punctual migrate".`, {
    value: state?.version ?? 0,
  })
}

function migrationLock(seconds: number): Statement {
  return sql`select get_lock(concat('punctual migrate ', database()), ${seconds}) as got`
}

/** Each as one statement, without its semicolon. */
function migrationSteps(from: number): string[] {
  return [
    MIGRATION_TABLE,
    ...TABLES.slice(from).flatMap((statements, i) => [
      ...statements,
      `insert ignore into punctual_migration (version, oldest) values (${from + i + 1}, ${OLDEST})`,
    ]),
  ]
}

/** What `migrate` sends, for a database administrator who runs it himself. */
export function migrationText(from = 0): string {
  return `${migrationSteps(from).join(';\n\n')};\n`
}

/** Resolves to the version that was there, 0 for none; undefined where nothing was to be done. */
export async function migrate(options: MysqlMigration): Promise<number | undefined> {
  const { server, logger } = options
  const connection = new MysqlConnection(options, () => undefined)
  try {
    await connection.open()
    let before: number | undefined
    await connection.send(async (send) => {
      const [tried = []] = await send([migrationLock(0)])
      if (Number(tried[0]?.['got']) !== 1) {
        logger.warn(`${server}: waiting for another process that migrates the tables`)
        await send([migrationLock(LOCK_S)])
      }
      const state = await readSchema(send)
      if (!needsMigration(state, server)) return
      if (state !== undefined) logger.info?.(`${server}: migrating the tables to ${SCHEMA_VERSION}`)
      for (const text of migrationSteps(state?.version ?? 0)) await send([{ text, values: [] }])
      before = state?.version ?? 0
    })
    return before
  } catch (error) {
    if (DENIED.includes(errorNumber(error))) {
      throw new UsageError(
        'STORE_REFUSED',
        `${server}: this user may not create or change tables there; let one who may run "punctual migrate", or what "punctual migrate --print" shows.`,
        { cause: error },
      )
    }
    throw REFUSALS.toError(error, server)
  } finally {
    connection.destroy()
  }
}
