/**
 * SQLite as Node has it: built in from 22.13, before that from a package with the same interface. Both are synchronous,
 * which is why they live on a thread.
 */
import { createRequire } from 'node:module'
import { UsageError } from '../../../core/errors.ts'

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

function builtIn(): Driver | undefined {
  return process.getBuiltinModule('node:sqlite') as Driver | undefined
}

function fromPackage(): Driver {
  try {
    return createRequire(import.meta.url)(PACKAGE) as Driver
  } catch (cause) {
    throw new UsageError(
      'STORE_CLIENT_MISSING',
      `Node ${process.versions.node} has no SQLite of its own; use Node 22.13 or newer, or install the package: npm install ${PACKAGE}@1`,
      { value: PACKAGE, cause },
    )
  }
}
