// A MySQL for the tests: they start a MariaDB of their own, but take a MySQL by its URL.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PATIENCE_MS = 60_000
const ROOT_OVER_TCP = `create user root@'127.0.0.1';
grant all on *.* to root@'127.0.0.1' with grant option;
`

/** `stop` ends it by its process id and removes its files. */
export async function startMysql(bin) {
  const place = mkdtempSync(join(tmpdir(), 'punctual-mysql-'))
  const [data, port] = [join(place, 'data'), await freePort()]
  mkdirSync(data)
  // Of the accounts that it makes itself none may come over TCP.
  const setUp = join(place, 'init.sql')
  writeFileSync(setUp, ROOT_OVER_TCP)
  const shared = ['--no-defaults', '--user=root', `--basedir=${join(bin, '..')}`, `--datadir=${data}`]
  const log = openSync(join(place, 'log'), 'a')
  execFileSync(join(bin, 'mysqld'), [...shared, '--initialize-insecure', `--init-file=${setUp}`], {
    stdio: ['ignore', log, log],
  })
  const child = spawn(
    join(bin, 'mysqld'),
    [
      ...shared,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      `--socket=${join(place, 'socket')}`,
      `--pid-file=${join(place, 'pid')}`,
      '--mysqlx=OFF',
      '--secure-file-priv=NULL',
      '--skip-name-resolve',
      '--innodb-buffer-pool-size=64M',
      '--max-connections=400',
    ],
    { stdio: ['ignore', log, log] },
  )
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    rmSync(place, { recursive: true, force: true })
  }
  try {
    await untilAnswering(port, child)
  } catch (error) {
    await stop()
    throw error
  }
  return { url: `mysql://root@127.0.0.1:${port}/mysql`, stop }
}

async function untilAnswering(port, child) {
  const end = performance.now() + PATIENCE_MS
  while (!(await answers(port))) {
    if (child.exitCode !== null || performance.now() > end) throw new Error('this mysqld did not start')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    // It greets as soon as it takes sessions.
    socket.once('data', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('close', () => resolve(false))
    socket.setTimeout(1_000, () => resolve(false))
  })
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}
