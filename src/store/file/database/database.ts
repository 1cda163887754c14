/**
 * One connection to `queue.db`: statements prepared once, transactions that never wait inside SQLite, and the making of
 * the file.
 *
 * WAL: a commit appends to `queue.db-wal` and syncs it once; readers see the last commit and block no one else. An existing
 * store opens without the write lock, so a process that holds it keeps no other out.
 *
 * Danger: POSIX drops every lock that a process has on a file when it closes any descriptor of it. So no other code may
 * open `queue.db`, not even to read it.
 */
import path from 'node:path'
import { DATA_FILE, WAL_FILE, foreignError, sizeOf, tooNewError, type SyncMode } from '../directory.ts'
import { corrupt } from '../failure.ts'
import { connect, isBusy, type SqlConnection, type SqlStatement, type SqlValue } from './driver.ts'
import { APPLICATION_ID, FENCE, FORMAT_VERSION, MIGRATIONS } from './schema.ts'

/** The journal shrinks to this size when it starts over; it stays there, so that its pages need not be found again. */
const JOURNAL_BYTES = 16 * 1024 * 1024

export class Database {
  readonly directory: string
  readonly #connection: SqlConnection
  readonly #statements = new Map<string, SqlStatement>()

  private constructor(directory: string, connection: SqlConnection) {
    this.directory = directory
    this.#connection = connection
  }

  /** Undefined: another process has the lock that making or changing the file needs. */
  static open(directory: string, sync: SyncMode): Database | undefined {
    const isNew = sizeOf(directory, DATA_FILE) === 0
    const database = new Database(directory, connect(path.join(directory, DATA_FILE)))
    try {
      if (database.#prepareFile(sync, isNew)) return database
    } catch (error) {
      database.close()
      if (!isBusy(error)) throw error
      return undefined
    }
    database.close()
    return undefined
  }

  /** An empty one of the form that this version makes, to compare with. */
  static inMemory(): Database {
    const database = new Database('', connect(':memory:'))
    for (const step of MIGRATIONS) database.#connection.exec(step)
    return database
  }

  /** Keeps processes of a version before from messages with a key. */
  fence(): void {
    this.#connection.exec(FENCE)
  }

  run(sql: string, ...values: readonly SqlValue[]): number {
    return Number(this.#statement(sql).run(...values).changes)
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- a statement cannot tell what it answers
  get<R>(sql: string, ...values: readonly SqlValue[]): R | undefined {
    return this.#statement(sql).get(...values) as R | undefined
  }

  all<R>(sql: string, ...values: readonly SqlValue[]): R[] {
    return this.#statement(sql).all(...values) as R[]
  }

  /** False: another process has the write lock. */
  begin(): boolean {
    try {
      this.run('BEGIN IMMEDIATE')
      return true
    } catch (error) {
      if (isBusy(error)) return false
      throw error
    }
  }

  commit(): void {
    this.run('COMMIT')
  }

  rollback(): void {
    try {
      this.run('ROLLBACK')
    } catch {
      // SQLite has rolled back by itself, as it does when the disk is full.
    }
  }

  /** All that `read` sees is of one moment. */
  snapshot<T>(read: () => T): T {
    this.run('BEGIN')
    try {
      return read()
    } finally {
      this.rollback()
    }
  }

  /** Moves what the journal holds into the file, as far as it is not read there, and lets the journal start over. */
  checkpoint(): void {
    this.all('PRAGMA wal_checkpoint(TRUNCATE)')
  }

  pragma(name: string): string | number {
    const row = this.#connection.prepare(`PRAGMA ${name}`).get() as
      Record<string, string | number> | undefined
    return Object.values(row ?? {})[0] ?? 0
  }

  close(): void {
    this.#statements.clear()
    this.#connection.close()
  }

  #prepareFile(sync: SyncMode, isNew: boolean): boolean {
    this.#connection.exec('PRAGMA busy_timeout = 0')
    const { version, application, hasTables, isUnfinished } = this.#look()
    if (version > FORMAT_VERSION && application === APPLICATION_ID) throw tooNewError(this.directory, version)
    if (application !== APPLICATION_ID && (version !== 0 || hasTables)) {
      throw foreignError(this.directory, `its ${DATA_FILE} was made by another program`)
    }
    this.#connection
      .exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${sync === 'off' ? 'NORMAL' : 'FULL'};
      PRAGMA fullfsync = 1; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000;
      PRAGMA journal_size_limit = ${JOURNAL_BYTES}; PRAGMA trusted_schema = 0; PRAGMA cell_size_check = 1`)
    if (version === FORMAT_VERSION) {
      this.#checkLength()
      return true
    }
    if (version === 0 && !isNew && !isUnfinished) {
      throw corrupt(`${path.join(this.directory, DATA_FILE)} holds nothing that punctual wrote`)
    }
    return this.#migrate()
  }

  #migrate(): boolean {
    if (!this.begin()) return false
    // Another process may have been quicker.
    const version = Number(this.pragma('user_version'))
    for (const step of MIGRATIONS.slice(version)) this.#connection.exec(step)
    this.#connection.exec(
      `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${FORMAT_VERSION}`,
    )
    this.commit()
    return true
  }

  /** SQLite would notice a file that was cut only when it reads behind its end. What the journal holds may be longer. */
  #checkLength(): void {
    const bytes = Number(this.pragma('page_count')) * Number(this.pragma('page_size'))
    if (sizeOf(this.directory, WAL_FILE) > 0 || sizeOf(this.directory, DATA_FILE) >= bytes) return
    throw corrupt(`${path.join(this.directory, DATA_FILE)} is shorter than it was`)
  }

  /** All of it at one moment: another process may be making the file. `isUnfinished`: a header at most. */
  #look(): { version: number; application: number; hasTables: boolean; isUnfinished: boolean } {
    return this.snapshot(() => {
      const hasTables = this.#connection.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() !== undefined
      return {
        version: Number(this.pragma('user_version')),
        application: Number(this.pragma('application_id')),
        hasTables,
        isUnfinished: !hasTables && Number(this.pragma('page_count')) <= 1,
      }
    })
  }

  #statement(sql: string): SqlStatement {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.#connection.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}
