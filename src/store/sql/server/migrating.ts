/**
 * Brings the tables of a dialect to the form that this version reads. Of many processes that start at once one does it, and
 * the others wait for its lock. A process of an older version goes on beside newer tables, as long as their `oldest` allows
 * that version.
 */
import { UsageError } from '../../../core/errors.ts'
import type { Logger } from '../../../core/log.ts'

export type SchemaState = { readonly version: number; readonly oldest: number }

export type SqlTables = {
  /** The version that this package makes. */
  readonly version: number
  /** As messages name it. */
  readonly server: string
  /** As messages name them: "the schema punctual". */
  readonly name: string
  readonly has: 'has' | 'have'
  /** Where there are none: "there is no schema punctual". */
  readonly absent: string
  /** What a user without the right may not change: "the schema punctual". */
  readonly changed: string
  /** Who may migrate: "its owner". */
  readonly owner: string
}

/** What happens on the connection of a migration. */
export type MigrationSteps = {
  /** Whether the lock was free; it is ours then. */
  readonly tryLock: () => Promise<boolean>
  readonly waitForLock: () => Promise<unknown>
  /** Undefined: nothing of ours is there. */
  readonly readState: () => Promise<SchemaState | undefined>
  /** All that came after this version. */
  readonly applyFrom: (version: number) => Promise<void>
}

/** Throws for tables that this version cannot use; true when they have to be migrated first. */
export function needsMigration(state: SchemaState | undefined, tables: SqlTables): boolean {
  if (state === undefined || state.version < tables.version) return true
  if (state.oldest <= tables.version) return false
  throw new UsageError(
    'STORE_TOO_NEW',
    `${tables.server}: ${versions(state, tables, 'knows')}; update punctual.`,
    { value: state.version },
  )
}

/** Where `migrate=false` forbids it. `value`: the version that is there. */
export function unmigrated(state: SchemaState | undefined, tables: SqlTables): UsageError {
  const { server, absent, owner } = tables
  const what =
    state === undefined ? `${absent}, and migrate=false makes none` : versions(state, tables, 'needs')
  return new UsageError('STORE_REFUSED', `${server}: ${what}; let ${owner} run "punctual migrate".`, {
    value: state?.version ?? 0,
  })
}

/** The user of the URL may not do it. */
export function mayNotMigrate(cause: unknown, { server, changed, owner }: SqlTables): UsageError {
  return new UsageError(
    'STORE_REFUSED',
    `${server}: this user may not create or change ${changed}; let ${owner} run "punctual migrate", or what "punctual migrate --print" shows.`,
    { cause },
  )
}

/** Resolves to the version that was there, 0 for none; undefined where nothing was to be done. */
export async function runMigration(
  steps: MigrationSteps,
  tables: SqlTables,
  logger: Logger,
): Promise<number | undefined> {
  const { server, name, version } = tables
  if (!(await steps.tryLock())) {
    logger.warn(`${server}: waiting for another process that migrates ${name}`)
    await steps.waitForLock()
  }
  const state = await steps.readState()
  if (!needsMigration(state, tables)) return undefined
  if (state !== undefined) logger.info?.(`${server}: migrating ${name} to ${version}`)
  const before = state?.version ?? 0
  await steps.applyFrom(before)
  return before
}

function versions({ version }: SchemaState, tables: SqlTables, verb: 'knows' | 'needs'): string {
  return `${tables.name} ${tables.has} version ${version}, and this version of punctual ${verb} ${tables.version}`
}
