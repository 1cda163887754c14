/** The package `mariadb`, loaded when it is used: it is an optional peer. It speaks to MySQL and MariaDB alike. */
import { UsageError } from '../../../core/errors.ts'

/** What we use of it. */
export interface DriverConnection {
  query(statement: { readonly sql: string; readonly values?: readonly unknown[] }): Promise<unknown>
  on(event: 'error' | 'end', listener: (error?: unknown) => void): unknown
  readonly threadId: number | bigint | null
}

export type MysqlDriver = {
  createConnection(options: object): Promise<DriverConnection>
}

export async function loadDriver(): Promise<MysqlDriver> {
  try {
    const loaded = (await import('mariadb')) as unknown as { default?: MysqlDriver } & MysqlDriver
    return loaded.default ?? loaded
  } catch (cause) {
    throw new UsageError(
      'STORE_CLIENT_MISSING',
      'a MySQL or MariaDB store needs the package "mariadb", version 3.4 or newer: npm install mariadb',
      { value: 'mariadb', cause },
    )
  }
}
