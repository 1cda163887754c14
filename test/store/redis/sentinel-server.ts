/** A real sentinel for tests: `redis-server --sentinel`, on a free port, in a directory of its own. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../free-port.ts'
import { sendOnce } from './server.ts'
import { until } from './until.ts'

export type Watched = {
  readonly name: string
  readonly port: number
  readonly quorum: number
  /** How long a server must be silent to count as down. */
  readonly downAfterMs?: number
}

/** Not shorter: a busy machine must not look like a dead one. */
const DOWN_AFTER_MS = 1_500
const FAILOVER_TIMEOUT_MS = 4_000

export class SentinelServer {
  readonly port: number
  readonly #directory: string
  readonly #config: readonly string[]
  #process: ChildProcess | undefined

  private constructor(port: number, directory: string, config: readonly string[]) {
    this.port = port
    this.#directory = directory
    this.#config = config
  }

  static async start(
    { name, port: watched, quorum, downAfterMs = DOWN_AFTER_MS }: Watched,
    more: readonly string[] = [],
  ): Promise<SentinelServer> {
    const directory = await mkdtemp(join(tmpdir(), 'punctual-sentinel-'))
    const port = await freePort()
    const sentinel = new SentinelServer(port, directory, [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${directory}`,
      `sentinel monitor ${name} 127.0.0.1 ${watched} ${quorum}`,
      `sentinel down-after-milliseconds ${name} ${downAfterMs}`,
      `sentinel failover-timeout ${name} ${FAILOVER_TIMEOUT_MS}`,
      `sentinel parallel-syncs ${name} 5`,
      ...more,
    ])
    await sentinel.#launch()
    return sentinel
  }

  /** SIGSTOP: it accepts connections, and answers nobody. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process?.kill(name)
  }

  async stop(): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    }
    await rm(this.#directory, { recursive: true, force: true })
  }

  admin(command: readonly string[], login: { readonly password?: string } = {}): Promise<unknown> {
    const socket = { host: '127.0.0.1', port: this.port, reconnectStrategy: false as const }
    return sendOnce({ ...login, socket }, command)
  }

  async #launch(): Promise<void> {
    const file = join(this.#directory, 'sentinel.conf')
    await writeFile(file, `${this.#config.join('\n')}\n`)
    const child = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' })
    await once(child, 'spawn')
    this.#process = child
    const password = this.#config.find((line) => line.startsWith('requirepass '))?.split(' ')[1]
    const login = password === undefined ? {} : { password }
    await until('the sentinel answers', async () => (await this.admin(['PING'], login)) === 'PONG')
    // Where the version lets us (7.0 and newer), sentinels look around more often than every ten seconds.
    const hasten = ['SENTINEL', 'DEBUG', 'info-period', '500', 'publish-period', '300', 'ping-period', '200']
    await this.admin(hasten, login).catch(() => undefined)
  }
}
