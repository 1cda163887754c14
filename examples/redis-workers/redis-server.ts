/** A redis-server of our own, on a free port and in a directory of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type RedisServer = { readonly url: string; readonly stop: () => Promise<void> }

/** Undefined where the binary is not installed. */
export async function startRedis(): Promise<RedisServer | undefined> {
  const directory = await mkdtemp(join(tmpdir(), 'punctual-redis-'))
  const port = await freePort()
  const words = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', '']
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
  return { url: `redis://127.0.0.1:${port}`, stop }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}
