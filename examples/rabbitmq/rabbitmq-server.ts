/** A RabbitMQ node of our own, on free ports of the loopback interface and in a directory of its own. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import amqplib from 'amqplib'

export type RabbitmqServer = { readonly url: string; readonly stop: () => Promise<void> }

/** Debian's script in /usr/sbin insists on a user; the one that it calls does not. */
const DEBIAN = '/usr/lib/rabbitmq/bin/rabbitmq-server'

/** The broker that RABBITMQ_URL names, or a new one; undefined where the program is not installed. */
export async function startRabbitmq(): Promise<RabbitmqServer | undefined> {
  const given = process.env.RABBITMQ_URL
  if (given !== undefined) return { url: given, stop: () => Promise.resolve() }
  const isThere = ['epmd', existsSync(DEBIAN) ? DEBIAN : 'rabbitmq-server'].every(
    (program) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0,
  )
  if (!isThere) return undefined
  const directory = await mkdtemp(join(tmpdir(), 'punctual-rabbitmq-'))
  const [port, distribution, names] = [await freePort(), await freePort(), await freePort()]
  for (const part of ['mnesia', 'log']) await mkdir(join(directory, part))
  await writeFile(
    join(directory, 'rabbitmq.conf'),
    `listeners.tcp.1 = 127.0.0.1:${port}\ndistribution.listener.interface = 127.0.0.1\ndisk_free_limit.absolute = 50MB\n`,
  )
  await writeFile(join(directory, 'plugins'), '[].\n')
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: directory,
    RABBITMQ_NODENAME: `example${port}@localhost`,
    RABBITMQ_DIST_PORT: String(distribution),
    ERL_EPMD_PORT: String(names),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_MNESIA_BASE: join(directory, 'mnesia'),
    RABBITMQ_LOG_BASE: join(directory, 'log'),
    RABBITMQ_CONFIG_FILE: join(directory, 'rabbitmq.conf'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(directory, 'plugins'),
    RABBITMQ_CONF_ENV_FILE: '/dev/null',
  }
  // Erlang's name service, in the foreground, so that it ends with us.
  const epmd = spawnGuarded('epmd', ['-address', '127.0.0.1', '-port', String(names)], env)
  const node = spawnGuarded(existsSync(DEBIAN) ? DEBIAN : 'rabbitmq-server', [], env)
  const stop = async (): Promise<void> => {
    await Promise.all([end(node), end(epmd)])
    await rm(directory, { recursive: true, force: true, maxRetries: 5 })
  }
  const url = `amqp://127.0.0.1:${port}`
  while (!(await answers(url))) await pause(200)
  return { url, stop }
}

async function answers(url: string): Promise<boolean> {
  try {
    const connection = await amqplib.connect(url)
    await connection.close()
    return true
  } catch {
    return false
  }
}

/**
 * In a process group that ends when we do, however that happens: its shell reads from a pipe that stays empty, and kills
 * the group, itself included, when the pipe closes.
 */
function spawnGuarded(program: string, args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const guard = '"$@" </dev/null & cat >/dev/null; kill -9 0'
  return spawn('sh', ['-c', guard, 'guard', program, ...args], {
    env,
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
}

async function end(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.stdin?.end()
  await exited
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}
