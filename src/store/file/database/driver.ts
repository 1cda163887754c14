/**
 * SQLite as Node has it: built in from 22.13, before that from a package with the same interface. Both are synchronous,
 * which is why they live on a thread.
 */
import { UsageError, errorCode } from '../../../core/errors.ts'

export type SqlValue = string | number | null | Uint8Array

export interface SqlStatement {
  run(...values: readonly SqlValue[]): { readonly changes: number | bigint }
  get(...values: readonly SqlValue[]): unknown
  all(...values: readonly SqlValue[]): unknown[]
}

export interface SqlConnection {
  exec(sql: string): void
  prepare(sql: string): SqlStatement
  close(): void
}

type Driver = { readonly DatabaseSync: new (file: string) => SqlConnection }

const PACKAGE = '@photostructure/sqlite'

export function connect(file: string): SqlConnection {
  const { DatabaseSync } = builtIn() ?? fromPackage()
  return new DatabaseSync(file)
}

/** SQLite's numbers for what went wrong (`sqlite3.h`), without the details in their upper bytes. */
export const SQLITE = {
  error: 1,
  busy: 5,
  locked: 6,
  readonly: 8,
  ioerr: 10,
  corrupt: 11,
  full: 13,
  cantopen: 14,
  constraint: 19,
  mismatch: 20,
  notadb: 26,
} as const

/** The package leaves out the number where `all` fails; these are SQLite's own words for it. */
const WORDS: Readonly<Record<string, number>> = {
  'database is locked': SQLITE.busy,
  'attempt to write a readonly database': SQLITE.readonly,
  'disk I/O error': SQLITE.ioerr,
  'database disk image is malformed': SQLITE.corrupt,
  'database or disk is full': SQLITE.full,
  'unable to open database file': SQLITE.cantopen,
  'file is not a database': SQLITE.notadb,
}

/** Undefined for an error that is not SQLite's. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || errorCode(error) !== 'ERR_SQLITE_ERROR') return undefined
  if ('errcode' in error && error.errcode !== undefined) return Number(error.errcode) & 0xff
  return WORDS[error.message] ?? SQLITE.error
}

export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error)
  return code === SQLITE.busy || code === SQLITE.locked
}

function builtIn(): Driver | undefined {
  return process.getBuiltinModule('node:sqlite') as Driver | undefined
}

function fromPackage(): Driver {
  try {
    // Not imported: a bundler would look for it, and it is native.
    const { createRequire } = process.getBuiltinModule('node:module')
    return createRequire(import.meta.url)(PACKAGE) as Driver
  } catch (cause) {
    throw new UsageError(
      'STORE_CLIENT_MISSING',
      `Node ${process.versions.node} has no SQLite of its own; use Node 22.13 or newer, or install the package: npm install ${PACKAGE}@1`,
      { value: PACKAGE, cause },
    )
  }
}
