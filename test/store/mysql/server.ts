/**
 * MariaDB servers for tests. One is shared by all files of a run (`test/shared.ts`); tests that kill or configure a server
 * start one of their own. A URL in PUNCTUAL_TEST_MYSQL is used instead by tests that need no server of their own: it may as well be a MySQL.
 */
import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createConnection, type Connection } from 'mariadb'
import { POSTGRES_USER as NOBODY } from '../../../scripts/postgres-binaries.mjs'
import { startingServer } from '../../costs.ts'
import { shared } from '../../shared.ts'
import { freePort } from '../../free-port.ts'
import { until } from '../redis/until.ts'

export const GIVEN_URL = process.env['PUNCTUAL_TEST_MYSQL']
/** Whether a test can start one. */
export const isMariaDbThere = isThere('mariadbd') && isThere('mariadb-install-db')
/** Whether there is any to use. */
export const isMysqlThere = GIVEN_URL !== undefined || isMariaDbThere

const DATABASE = 'punctual'

export type MysqlServerOptions = {
  /** More options of the server, without the dashes. */
  readonly settings?: readonly string[]
  /** Where it keeps everything; else a scratch folder. */
  readonly directory?: string
  /** Its process does not end with ours: the run ends it. */
  readonly isShared?: boolean
}

export class MysqlServer {
  readonly directory: string
  readonly port: number
  readonly #options: MysqlServerOptions
  #process: ChildProcess | undefined

  private constructor(directory: string, port: number, options: MysqlServerOptions) {
    this.directory = directory
    this.port = port
    this.#options = options
  }

  static start(options: MysqlServerOptions = {}): Promise<MysqlServer> {
    return startingServer(async () => {
      const directory = options.directory ?? (await mkdtemp(join(tmpdir(), 'punctual-mysql-')))
      const { uid, gid } = NOBODY
      if (uid !== undefined && gid !== undefined) await chown(directory, uid, gid)
      const server = new MysqlServer(directory, await freePort(), options)
      const args = [
        '--no-defaults',
        `--datadir=${join(directory, 'data')}`,
        '--skip-test-db',
        '--skip-name-resolve',
      ]
      const small = ['--auth-root-authentication-method=normal', '--innodb-log-file-size=8M']
      const surroundings = { ...NOBODY, cwd: directory, env: environment(directory) }
      await promisify(execFile)('mariadb-install-db', [...args, ...small], surroundings)
      await server.resume()
      await queryAt(server.urlOf('mysql'), `create database ${DATABASE}`)
      return server
    })
  }

  get url(): string {
    return this.urlOf(DATABASE)
  }

  urlOf(database: string): string {
    return `mysql://root@127.0.0.1:${this.port}/${database}`
  }

  get isRunning(): boolean {
    return isRunning(this.#process)
  }

  get pid(): number {
    const pid = this.#process?.pid
    if (pid === undefined) throw new Error('this MariaDB does not run')
    return pid
  }

  /** Starts the process, again after a kill, on the same port and files. */
  async resume(): Promise<void> {
    await until('MariaDB answers', async () => {
      if (!isRunning(this.#process)) this.#spawn()
      return (await queryAt(this.urlOf('mysql'), 'select 1')).length === 1
    })
  }

  #spawn(): void {
    const { settings = [], isShared = false } = this.#options
    const options = [
      `datadir=${join(this.directory, 'data')}`,
      `port=${this.port}`,
      'bind-address=127.0.0.1',
      `socket=${join(this.directory, 'socket')}`,
      `pid-file=${join(this.directory, 'pid')}`,
      'skip-name-resolve',
      'innodb-buffer-pool-size=64M',
      'innodb-log-file-size=8M',
      'max-connections=400',
      ...settings,
    ]
    const child = spawn('mariadbd', ['--no-defaults', ...options.map((option) => `--${option}`)], {
      ...NOBODY,
      cwd: this.directory,
      env: environment(this.directory),
      stdio: 'ignore',
      detached: isShared,
    })
    child.once('error', () => undefined)
    if (isShared) child.unref()
    this.#process = child
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child === undefined || !isRunning(child)) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }

  async stop(): Promise<void> {
    await this.end('SIGKILL')
    await rm(this.directory, { recursive: true, force: true })
  }

  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
    return queryAt(this.url, text, values)
  }
}

/** One statement on a connection of its own, so that nothing of the store under test is involved. */
export async function queryAt(
  url: string,
  text: string,
  values?: unknown[],
): Promise<Record<string, unknown>[]> {
  const connection = await connectionTo(url)
  try {
    const rows: unknown = await connection.query(text, values)
    return Array.isArray(rows) ? (rows as Record<string, unknown>[]) : []
  } finally {
    await connection.end()
  }
}

/** A connection as a user has one. */
export async function connectionTo(url: string): Promise<Connection> {
  const { hostname, port, username, password, pathname } = new URL(url)
  const connection = await createConnection({
    host: hostname,
    port: Number(port === '' ? 3306 : port),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: pathname.slice(1),
    bigIntAsNumber: true,
    multipleStatements: true,
    connectTimeout: 60_000,
  })
  connection.on('error', () => undefined)
  return connection
}

/** The URL of the server that was given, or of the one that this run shares. */
export async function sharedUrl(): Promise<string> {
  if (GIVEN_URL !== undefined) return GIVEN_URL
  return shared('mysql', async () => {
    const { url, pid, directory } = await MysqlServer.start({ isShared: true })
    return { url, pid, directory, signal: 'SIGKILL' }
  })
}

let databases = 0

/** A database of its own on the shared server, without tables. */
export async function freshDatabase(): Promise<string> {
  const server = await sharedUrl()
  databases += 1
  const name = `punctual_${process.pid}_${databases}`
  await queryAt(server, `create database ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

/** A server that starts removes temporary tables from its folder for them, whoever made them. */
function environment(directory: string): NodeJS.ProcessEnv {
  return { ...process.env, TMPDIR: directory }
}

function isRunning(child: ChildProcess | undefined): boolean {
  return child !== undefined && child.exitCode === null && child.signalCode === null
}

function isThere(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
