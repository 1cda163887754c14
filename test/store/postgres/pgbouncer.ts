/** A PgBouncer of our own in transaction mode, on a free port, ended by its process id. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { POSTGRES_USER } from '../../../scripts/postgres-binaries.mjs'
import { freePort } from '../../free-port.ts'
import { until } from '../redis/until.ts'
import { queryAt } from './server.ts'

export const isPgBouncerThere = spawnSync('sh', ['-c', 'command -v pgbouncer']).status === 0

export class PgBouncer {
  readonly port: number
  readonly #directory: string
  readonly #process: ChildProcess

  private constructor(port: number, directory: string, child: ChildProcess) {
    this.port = port
    this.#directory = directory
    this.#process = child
  }

  /** Few connections to the server, so that clients really share them. */
  static async before(serverPort: number): Promise<PgBouncer> {
    const [port, directory] = [await freePort(), await mkdtemp(join(tmpdir(), 'punctual-pgbouncer-'))]
    const file = join(directory, 'pgbouncer.ini')
    await writeFile(join(directory, 'users.txt'), '"postgres" ""\n')
    await writeFile(
      file,
      [
        '[databases]',
        `* = host=127.0.0.1 port=${serverPort}`,
        '[pgbouncer]',
        'listen_addr = 127.0.0.1',
        `listen_port = ${port}`,
        'unix_socket_dir =',
        'auth_type = trust',
        `auth_file = ${join(directory, 'users.txt')}`,
        'pool_mode = transaction',
        'default_pool_size = 3',
        'max_client_conn = 500',
        `logfile = ${join(directory, 'log')}`,
        '',
      ].join('\n'),
    )
    const { uid, gid } = POSTGRES_USER
    if (uid !== undefined && gid !== undefined) await chown(directory, uid, gid)
    const child = spawn('pgbouncer', [file], { ...POSTGRES_USER, cwd: directory, stdio: 'ignore' })
    const made = new PgBouncer(port, directory, child)
    await until('PgBouncer answers', async () => (await queryAt(made.url, 'select 1')).length === 1)
    return made
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  async stop(): Promise<void> {
    const exited = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await exited
    await rm(this.#directory, { recursive: true, force: true })
  }
}
