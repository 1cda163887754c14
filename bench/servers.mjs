// The servers that contestants need: our own processes, on free ports, in scratch directories, ended by their id.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Redis from 'ioredis'

export function isThere(program) {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

async function whenListening(port) {
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    const isUp = await new Promise((resolve) =>
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false)),
    )
    socket.destroy()
    if (isUp) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function start(program, argumentsFor) {
  const port = await freePort()
  const directory = mkdtempSync(join(tmpdir(), 'punctual-bench-'))
  const child = spawn(program, argumentsFor(port, directory), { stdio: 'ignore' })
  await whenListening(port)
  return {
    port,
    directory,
    async stop() {
      child.kill('SIGKILL')
      await once(child, 'exit')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** Without persistence: what is measured is the queue, not the disk; the same for all. */
export async function startRedis() {
  const server = await start('redis-server', (port, directory) => [
    '--port',
    port,
    '--bind',
    '127.0.0.1',
    '--dir',
    directory,
    '--save',
    '',
    '--appendonly',
    'no',
  ])
  const redis = new Redis({ host: '127.0.0.1', port: server.port })
  return {
    ...server,
    usedBytes: async () => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))[1]),
    version: async () => /redis_version:(\S+)/.exec(await redis.info('server'))[1],
    clientCalls: async () => countClientCalls(await redis.info('commandstats')),
    async stop() {
      redis.disconnect()
      await server.stop()
    },
  }
}

// What clients send; what a script does inside the server is not a call over the wire.
const FROM_CLIENTS =
  /^cmdstat_(evalsha|eval|fcall|ping|bzpopmin|brpoplpush|blmove|brpop|multi|exec|script\|load):calls=(\d+)/

function countClientCalls(commandstats) {
  let calls = 0
  for (const line of commandstats.split('\r\n')) calls += Number(FROM_CLIENTS.exec(line)?.[2] ?? 0)
  return calls
}

export function startBeanstalkd() {
  return start('beanstalkd', (port) => ['-l', '127.0.0.1', '-p', String(port), '-z', '1048576'])
}

export function scratchDirectory() {
  const directory = mkdtempSync(join(tmpdir(), 'punctual-bench-'))
  return { directory, stop: async () => rmSync(directory, { recursive: true, force: true }) }
}
