// A PostgreSQL for contestants: our own process, on a free port, in a scratch directory. It writes each commit to the disk,
// as people run it.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { POSTGRES_USER, findBinaries } from '../scripts/postgres-binaries.mjs'

export const urlFor = ({ port }) => `postgres://postgres@127.0.0.1:${port}/postgres`

export function hasPostgres() {
  return findBinaries().length > 0
}

/** `settings`: more lines of postgresql.conf. */
export async function startPostgres(freePort, settings = []) {
  const [binaries] = findBinaries()
  const port = await freePort()
  const directory = mkdtempSync(join(tmpdir(), 'punctual-bench-'))
  if (POSTGRES_USER.uid !== undefined) chownSync(directory, POSTGRES_USER.uid, POSTGRES_USER.gid)
  const options = { ...POSTGRES_USER, cwd: directory, stdio: 'ignore' }
  const data = join(directory, 'data')
  execFileSync(
    join(binaries.directory, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C'],
    options,
  )
  appendFileSync(
    join(data, 'postgresql.conf'),
    `port = ${port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\nshared_buffers = 256MB\nmax_wal_size = 4GB\nmax_connections = 200\n${settings.join('\n')}\n`,
  )
  const child = spawn(join(binaries.directory, 'postgres'), ['-D', data], options)
  const client = await connected(port)
  const ask = async (text) => Object.values((await client.query(text)).rows[0])[0]
  return {
    port,
    directory,
    ask,
    version: () => ask('show server_version'),
    usedBytes: async () => Number(await ask('select pg_database_size(current_database())')),
    // Statements of clients are transactions of their own; ours, which count too, are few.
    clientCalls: async () => {
      await client.query('select pg_stat_force_next_flush()').catch(() => undefined)
      return Number(
        await ask(
          'select xact_commit + xact_rollback from pg_stat_database where datname = current_database()',
        ),
      )
    },
    async stop() {
      await client.end().catch(() => undefined)
      child.kill('SIGQUIT')
      await once(child, 'exit')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function connected(port) {
  for (;;) {
    const client = new pg.Client({ connectionString: urlFor({ port }) })
    client.on('error', () => {})
    try {
      await client.connect()
      return client
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
  }
}
