/**
 * Real redis-server processes for tests: each on a free port, in a directory of its own, ended by its process id.
 * Nothing is downloaded: where the binary is missing, the tests say so.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, type RedisClientOptions } from 'redis'
import { startingServer } from '../../costs.ts'
import { freePort } from '../../free-port.ts'
import { until } from './until.ts'

export type ServerOptions = {
  /** More lines of configuration, as command-line words: ['--appendonly', 'yes']. */
  readonly config?: readonly string[]
  /** As a client of this very server would authenticate, where the configuration asks for it. */
  readonly login?: string
  /** The protocol to ask it in, where it does not know HELLO. */
  readonly protocol?: 2
  /** Its files go here, and stay here when it ends. Default: a directory that ends with it. */
  readonly directory?: string
}

export class RedisServer {
  readonly directory: string
  readonly port: number
  readonly #options: ServerOptions
  #process: ChildProcess | undefined

  private constructor(directory: string, port: number, options: ServerOptions) {
    this.directory = directory
    this.port = port
    this.#options = options
  }

  static start(options: ServerOptions = {}): Promise<RedisServer> {
    return startingServer(async () => {
      const directory = options.directory ?? (await mkdtemp(join(tmpdir(), 'punctual-redis-')))
      const server = new RedisServer(directory, await freePort(), options)
      await server.resume()
      return server
    })
  }

  get url(): string {
    return `redis://${this.#options.login ?? ''}127.0.0.1:${this.port}`
  }

  get pid(): number {
    const pid = this.#process?.pid
    if (pid === undefined) throw new Error('this redis-server does not run')
    return pid
  }

  get isRunning(): boolean {
    return this.#process !== undefined && !hasEnded(this.#process)
  }

  /** Starts the process, again after a kill, on the same port and files. */
  async resume(): Promise<void> {
    await this.launch()
    await until('redis-server answers', async () => (await this.admin(['PING'])) === 'PONG')
  }

  /** The same without waiting until it answers, with more configuration if need be. */
  async launch(more: readonly string[] = []): Promise<void> {
    const args = ['--port', String(this.port), '--dir', this.directory, '--bind', '127.0.0.1', '--save', '']
    const child = spawn('redis-server', [...args, ...(this.#options.config ?? []), ...more], {
      stdio: 'ignore',
    })
    child.once('error', () => undefined)
    await Promise.race([once(child, 'spawn'), once(child, 'error').then(missing)])
    this.#process = child
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    process.kill(this.pid, name)
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL')
  }

  /** As an operator stops it: it may finish what it does. */
  terminate(): Promise<void> {
    return this.#end('SIGTERM')
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child === undefined || hasEnded(child)) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }

  async stop(): Promise<void> {
    await this.kill()
    if (this.#options.directory === undefined) await rm(this.directory, { recursive: true, force: true })
  }

  /** One command on a connection of its own, so that nothing of the store under test is involved. */
  admin(command: readonly string[]): Promise<unknown> {
    const { protocol = 3 } = this.#options
    return sendOnce({ url: this.url, RESP: protocol, socket: { reconnectStrategy: false } }, command)
  }
}

type AdminOptions = Omit<RedisClientOptions, 'RESP'> & { readonly RESP?: 2 | 3 }

export async function sendOnce(options: AdminOptions, command: readonly string[]): Promise<unknown> {
  const client = createClient({ ...options, disableOfflineQueue: true } as RedisClientOptions)
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await client.sendCommand(command)
  } finally {
    if (client.isOpen) client.destroy()
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

function missing(): never {
  throw new Error('these tests need redis-server on the PATH (Debian: apt-get install redis-server)')
}
