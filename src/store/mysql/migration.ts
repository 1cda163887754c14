/**
 * How the tables are migrated (`sql/server/migrating`), under a lock of the server. Each statement commits by itself and may be
 * repeated, so that one that was cut off begins again.
 */
import type { Logger } from '../../core/log.ts'
import { mayNotMigrate, runMigration, type SchemaState, type SqlTables } from '../sql/server/migrating.ts'
import { MysqlConnection, type MysqlTarget, type SendFlight } from './link/connection.ts'
import { errorNumber, REFUSALS } from './link/refusals.ts'
import { numberOrNull, sql, type Statement } from './sql/statement.ts'
import { MIGRATION_TABLE, TABLES } from './sql/tables.ts'

export const SCHEMA_VERSION = TABLES.length
/** The oldest version of this package's tables that may still be used beside this one. */
const OLDEST = 1
const LOCK_S = 60
const SCHEMA_WITH_KEYS = 2
/** How long a statement may wait for open transactions that have used a table; what uses it next waits behind it. */
const TABLE_LOCK_S = 2
const TABLE_LOCK_TRIES = 30
const LOCK_TIMEOUT = 1205
/** Of a column that is there: the migration was cut off behind it. */
const DUPLICATE_COLUMN = 1060
const DENIED: readonly number[] = [1044, 1142, 1227]

export type MysqlMigration = MysqlTarget & { readonly server: string; readonly logger: Logger }

/** Undefined: nothing of ours is there. */
export async function readSchema(send: SendFlight): Promise<SchemaState | undefined> {
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

/** As `sql/server/migrating` tells it. */
export function tablesAt(server: string): SqlTables {
  return {
    version: SCHEMA_VERSION,
    server,
    name: 'the tables',
    has: 'have',
    absent: 'there are no tables of punctual',
    changed: 'tables there',
    owner: 'one who may',
  }
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

/** Waits for a table by little and little, so that others get through in between. */
async function applyStep(send: SendFlight, text: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await send([{ text, values: [] }])
      return
    } catch (error) {
      const code = errorNumber(error)
      if (code === DUPLICATE_COLUMN) return
      if (code !== LOCK_TIMEOUT || tries === TABLE_LOCK_TRIES) throw error
    }
  }
}

/** From the first message with a key on: processes that know no keys must not open these tables. */
export const MARK_KEYS = sql`update punctual_migration set oldest = ${SCHEMA_WITH_KEYS}
  where version = ${SCHEMA_WITH_KEYS} and oldest < ${SCHEMA_WITH_KEYS}`

/** Resolves to the version that was there, 0 for none; undefined where nothing was to be done. */
export async function migrate(options: MysqlMigration): Promise<number | undefined> {
  const { server, logger } = options
  const tables = tablesAt(server)
  const connection = new MysqlConnection(options, () => undefined)
  try {
    await connection.open()
    const work = (send: SendFlight): Promise<number | undefined> => {
      const steps = {
        tryLock: async () => Number((await send([migrationLock(0)]))[0]?.[0]?.['got']) === 1,
        waitForLock: () => send([migrationLock(LOCK_S)]),
        readState: () => readSchema(send),
        applyFrom: async (version: number) => {
          await send([sql`set session lock_wait_timeout = ${TABLE_LOCK_S}`])
          for (const text of migrationSteps(version)) await applyStep(send, text)
        },
      }
      return runMigration(steps, tables, logger)
    }
    return (await connection.send(work)) as number | undefined
  } catch (error) {
    throw DENIED.includes(errorNumber(error)) ? mayNotMigrate(error, tables) : REFUSALS.toError(error, server)
  } finally {
    connection.destroy()
  }
}
