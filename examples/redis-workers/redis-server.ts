/** Redis servers of our own, on free ports and in directories of their own: one, or the three masters of a cluster. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

export type RedisServer = { readonly url: string; readonly stop: () => Promise<void> }

/** Undefined where the binary is not installed. */
export async function startRedis(
  more: readonly string[] = [],
): Promise<(RedisServer & { port: number }) | undefined> {
  const directory = await mkdtemp(join(tmpdir(), 'punctual-redis-'))
  const port = await freePort()
  const words = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', '', ...more]
  const child = spawn('redis-server', words, { stdio: 'ignore' })
  const isThere = await Promise.race([
    once(child, 'spawn').then(() => true),
    once(child, 'error').then(() => false),
  ])
  const tidy = (): Promise<void> => rm(directory, { recursive: true, force: true })
  if (!isThere) {
    await tidy()
    return undefined
  }
  const stop = async (): Promise<void> => {
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    await exited
    await tidy()
  }
  return { url: `redis://127.0.0.1:${port}`, port, stop }
}

/** Three masters, joined by `redis-cli`. Undefined where the binaries are not installed. */
export async function startCluster(): Promise<RedisServer | undefined> {
  const started = await Promise.all(
    Array.from({ length: 3 }, async () =>
      startRedis(['--cluster-enabled', 'yes', '--cluster-port', String(await freePort())]),
    ),
  )
  const masters = started.filter((server) => server !== undefined)
  const stop = async (): Promise<void> => {
    await Promise.all(masters.map((server) => server.stop()))
  }
  const hosts = masters.map(({ port }) => `127.0.0.1:${port}`)
  if (masters.length === 3 && (await joinAll(hosts)))
    return { url: `redis+cluster://${hosts.join(',')}`, stop }
  await stop()
  return undefined
}

/** Servers that have just been started may not listen yet. */
async function joinAll(hosts: readonly string[]): Promise<boolean> {
  for (let tries = 0; tries < 20; tries += 1) {
    const words = ['--cluster', 'create', ...hosts, '--cluster-yes']
    const child = spawn('redis-cli', words, { stdio: 'ignore' })
    const code = await Promise.race([
      once(child, 'exit').then(([exit]) => exit as number),
      once(child, 'error').then(() => -1),
    ])
    if (code === 0) return true
    if (code === -1) return false
    await pause(250)
  }
  return false
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}
