// A MariaDB for contestants: our own process, on a free port, in a scratch directory. It writes each commit to the disk, as
// people run it.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createConnection } from 'mariadb'
import { POSTGRES_USER as NOBODY } from '../scripts/postgres-binaries.mjs'

export const DATABASE = 'bench'

export const urlFor = ({ port }) => `mysql://root@127.0.0.1:${port}/${DATABASE}`

export function connectTo(port, database = DATABASE) {
  return createConnection({
    host: '127.0.0.1',
    port,
    user: 'root',
    database,
    multipleStatements: true,
    bigIntAsNumber: true,
    insertIdAsNumber: true,
  })
}

export async function startMysql(freePort) {
  const port = await freePort()
  const directory = mkdtempSync(join(tmpdir(), 'punctual-bench-'))
  if (NOBODY.uid !== undefined) chownSync(directory, NOBODY.uid, NOBODY.gid)
  // A server that starts removes temporary tables from its folder for them, whoever made them.
  const env = { ...process.env, TMPDIR: directory }
  const options = { ...NOBODY, cwd: directory, env, stdio: 'ignore' }
  const data = `--datadir=${join(directory, 'data')}`
  const login = '--auth-root-authentication-method=normal'
  execFileSync('mariadb-install-db', ['--no-defaults', data, login, '--skip-test-db'], options)
  const settings = [
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    `--socket=${join(directory, 'socket')}`,
    '--skip-name-resolve',
    '--innodb-buffer-pool-size=256M',
    '--innodb-log-file-size=512M',
    '--max-connections=300',
  ]
  const child = spawn('mariadbd', ['--no-defaults', data, ...settings], options)
  const connection = await connected(port)
  await connection.query(`create database ${DATABASE}; use ${DATABASE}`)
  const ask = async (text) => Object.values((await connection.query(text))[0])[0]
  return {
    port,
    directory,
    ask,
    version: () => ask('select version()'),
    usedBytes: async () => {
      const [tables] = await connection.query(
        `select group_concat(table_name) as names from information_schema.tables where table_schema = '${DATABASE}'`,
      )
      if (tables.names !== null) await connection.query(`analyze table ${tables.names}`)
      const sum = `select sum(data_length + index_length) from information_schema.tables where table_schema = '${DATABASE}'`
      return Number(await ask(sum))
    },
    // Statements of clients; ours, which count too, are few.
    clientCalls: async () => Number((await connection.query("show global status like 'Questions'"))[0].Value),
    async stop() {
      await connection.end().catch(() => undefined)
      child.kill('SIGTERM')
      await once(child, 'exit')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function connected(port) {
  for (;;) {
    try {
      return await connectTo(port, 'mysql')
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
  }
}
