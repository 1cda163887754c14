/**
 * One session on the primary, from the first byte to its loss. Several hosts are tried in turn; one that takes no writes,
 * or is too old, does not count. A command is a piece of work that has the session for itself until it is done: a few
 * flights of statements, mostly one transaction.
 */
import { connect, type Socket } from 'node:net'
import { UnavailableError } from '../../../core/errors.ts'
import type { LinkConnection } from '../../link/link.ts'
import type { MysqlAddress } from '../address/url.ts'
import { sql, type SqlRow, type Statement } from '../sql/statement.ts'
import { TELLING, askVersion, isMariaDb, refuseByVariables, type Variable } from './identity.ts'
import { loadDriver, type DriverConnection, type MysqlDriver } from './driver.ts'
import { trustOf } from './trust.ts'

export type MysqlTarget = { readonly address: MysqlAddress; readonly connectTimeoutMs: number }

/** Statements in one round trip; the first that fails ends them. Answers with the rows of each. */
export type SendFlight = (statements: readonly Statement[]) => Promise<readonly (readonly SqlRow[])[]>
export type SessionWork = (send: SendFlight, guard: TransactionGuard) => Promise<unknown>
/** With what a transaction of several flights begins and ends, so that a process that stops in it does not keep its locks. */
export type TransactionGuard = { readonly before: readonly Statement[]; readonly after: readonly Statement[] }

/**
 * Bytes, not the server's language, decide everywhere; a lock is waited for one second, and we try again. READ COMMITTED:
 * no locks on gaps between rows, for which inserts would have to wait.
 */
const SETTINGS = [
  'set session transaction isolation level read committed',
  "set session sql_mode = 'STRICT_ALL_TABLES', time_zone = '+00:00', autocommit = 1, sql_safe_updates = 0, innodb_lock_wait_timeout = 1",
  'set names utf8mb4',
]
/** A process that is stopped in the middle of a transaction keeps its locks until the server ends its session. */
const MARIADB_SETTINGS = ['set session idle_transaction_timeout = 5']
const MARIADB_GUARD: TransactionGuard = { before: [], after: [] }
/** MySQL only knows how long any session may be silent; ours are silent for long where no transaction is open. */
const MYSQL_GUARD: TransactionGuard = {
  before: [sql`set session wait_timeout = 5`],
  after: [sql`set session wait_timeout = default`],
}

export class MysqlConnection implements LinkConnection<SessionWork> {
  readonly #target: MysqlTarget
  readonly #lost: (error: unknown) => void
  #driver: DriverConnection | undefined
  #socket: Socket | undefined
  #last: Promise<unknown> = Promise.resolve()
  #guard: TransactionGuard = MYSQL_GUARD
  #isOpen = false
  #isDestroyed = false

  constructor(target: MysqlTarget, lost: (error: unknown) => void) {
    this.#target = target
    this.#lost = lost
  }

  async open(): Promise<void> {
    const driver = await loadDriver()
    const { hosts } = this.#target.address
    const failures: unknown[] = []
    for (const { host, port } of hosts) {
      if (this.#isDestroyed) break
      try {
        return await this.#openAt(driver, host, port)
      } catch (error) {
        failures.push(error)
        this.#socket?.destroy()
      }
    }
    const last = failures.at(-1)
    throw last instanceof Error
      ? last
      : new UnavailableError('STORE_UNAVAILABLE', 'the connection was given up.')
  }

  /** One after the other: what comes meanwhile waits. */
  send(work: SessionWork): Promise<unknown> {
    const done = this.#last.then(() => work((statements) => this.#fly(statements), this.#guard))
    this.#last = done.catch(() => undefined)
    return done
  }

  /** Not the driver's own way: it would connect once more to end what this session does. */
  destroy(): void {
    this.#isDestroyed = true
    this.#socket?.destroy()
  }

  unref(): void {
    this.#socket?.unref()
  }

  async #fly(statements: readonly Statement[]): Promise<readonly (readonly SqlRow[])[]> {
    const driver = this.#driver
    if (driver === undefined || this.#isDestroyed)
      throw new UnavailableError('STORE_UNAVAILABLE', 'the connection is closed.')
    const reply = await driver.query({
      sql: statements.map(({ text }) => text).join(';'),
      values: statements.flatMap(({ values }) => values),
    })
    const replies = statements.length === 1 ? [reply] : (reply as readonly unknown[])
    return replies.map((one) => (Array.isArray(one) ? (one as readonly SqlRow[]) : []))
  }

  async #openAt(driver: MysqlDriver, host: string, port: number): Promise<void> {
    const { address, connectTimeoutMs } = this.#target
    const { user, password, database, socketPath } = address
    const trust = await trustOf(address)
    // A socket of our own, so that a session that does not answer can be ended at once.
    const socket = socketPath === undefined ? connect(port, host) : connect(socketPath)
    socket.setNoDelay(true)
    this.#socket = socket
    const opened = await driver.createConnection({
      host,
      port,
      user,
      password,
      database,
      ...trust,
      stream: () => socket,
      connectTimeout: Math.ceil(connectTimeoutMs / address.hosts.length),
      charset: 'utf8mb4',
      multipleStatements: true,
      bigIntAsNumber: true,
      insertIdAsNumber: true,
      decimalAsNumber: true,
      autoJsonMap: false,
      keepAliveDelay: 10_000,
      // Without it the driver puts statements, which hold what users stored, into its errors.
      logParam: false,
    })
    opened.on('error', (error) => this.#ended(opened, error))
    opened.on('end', () => this.#ended(opened, new Error('the server closed the connection')))
    socket.once('close', () => this.#ended(opened, new Error('the server closed the connection')))
    const version = await askVersion(opened, address.allowed)
    if (isMariaDb(version)) this.#guard = MARIADB_GUARD
    const settings = isMariaDb(version) ? [...SETTINGS, ...MARIADB_SETTINGS] : SETTINGS
    const replies = (await opened.query({ sql: [...settings, TELLING].join(';') })) as readonly unknown[]
    refuseByVariables(replies.at(-1) as readonly Variable[], address.allowed)
    if (this.#isDestroyed) throw new UnavailableError('STORE_UNAVAILABLE', 'the connection was given up.')
    this.#driver = opened
    this.#isOpen = true
  }

  #ended(driver: DriverConnection, error: unknown): void {
    if (!this.#isOpen || this.#isDestroyed || driver !== this.#driver) return
    this.#isDestroyed = true
    this.#socket?.destroy()
    this.#lost(error)
  }
}
