/** The package `pg`, loaded when it is used: it is an optional peer. */
import { createRequire } from 'node:module'
import { UsageError, errorText } from '../../../core/errors.ts'

/** What we use of it. */
export interface PgClient {
  connect(): Promise<unknown>
  query(query: PgQuery): Promise<{ readonly rows: readonly unknown[] }>
  on(event: 'error' | 'end', listener: (error?: unknown) => void): unknown
  on(event: 'notification', listener: (heard: PgNotification) => void): unknown
  end(): Promise<void>
  unref(): void
}

export type PgQuery = {
  readonly text: string
  readonly values?: readonly unknown[]
  /** Prepared once for each connection. */
  readonly name?: string
}

export type PgNotification = {
  readonly channel: string
  readonly payload?: string
  readonly processId: number
}

type Parse = (text: string) => unknown
type PgTypes = { getTypeParser(oid: number, format?: string): Parse }
export type PgPackage = {
  readonly Client: new (config: object) => PgClient
  readonly types: PgTypes
}

const INT8 = 20
const INT8_ARRAY = 1016

export async function loadPg(): Promise<PgPackage> {
  const pg = await importPg()
  if ('pipeline' in new pg.Client({})) return pg
  const version = installedVersion()
  throw new UsageError(
    'STORE_CLIENT_TOO_OLD',
    `the package "pg" is of version ${version}, which cannot pipeline; a PostgreSQL store needs 8.23 or newer: npm install pg@8`,
    { value: version },
  )
}

function installedVersion(): string {
  try {
    const { version } = createRequire(import.meta.url)('pg/package.json') as { version: string }
    return version
  } catch {
    return 'unknown' // In a bundle there is no package to ask.
  }
}

async function importPg(): Promise<PgPackage> {
  try {
    const loaded = (await import('pg')) as unknown as { default?: PgPackage } & PgPackage
    return loaded.default ?? loaded
  } catch (cause) {
    throw new UsageError(
      'STORE_CLIENT_MISSING',
      `a PostgreSQL store needs the package "pg", version 8.23 or newer, which could not be loaded (${errorText(cause).split('\n')[0]}): npm install pg`,
      { value: 'pg', cause },
    )
  }
}

/** Numbers of 8 bytes as numbers, on our own connections only: ours are moments and counts, which fit. */
export function parsersOf({ types }: PgPackage): PgTypes {
  const list = types.getTypeParser(INT8_ARRAY)
  return {
    getTypeParser(oid, format) {
      if (oid === INT8) return Number
      if (oid === INT8_ARRAY)
        return (text) => (list(text) as (string | null)[]).map((one) => (one === null ? null : Number(one)))
      return types.getTypeParser(oid, format)
    },
  }
}
