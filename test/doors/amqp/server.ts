/**
 * Real RabbitMQ nodes for tests: each on free ports of the loopback interface, with directories, a cookie and an
 * epmd of its own, ended by its process id. Nothing is downloaded: where the program is missing, the tests say so.
 *
 * PUNCTUAL_TEST_AMQP=amqp://... uses a broker that runs already; what needs to stop or starve it is skipped then.
 */
import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import amqplib from 'amqplib'
import { startingServer } from '../../costs.ts'
import { freePort } from '../../free-port.ts'
import { until } from '../../store/redis/until.ts'

export const GIVEN_URL = process.env.PUNCTUAL_TEST_AMQP

/** Debian's scripts in /usr/sbin insist on a user; the ones that they call do not. */
const DIRECTORIES = [
  '/usr/lib/rabbitmq/bin',
  '/usr/local/sbin',
  '/usr/local/opt/rabbitmq/sbin',
  '/opt/homebrew/sbin',
]

function find(program: string): string | undefined {
  const found = DIRECTORIES.map((directory) => join(directory, program)).find((path) => existsSync(path))
  if (found !== undefined) return found
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0 ? program : undefined
}

export const HAS_RABBITMQ = find('rabbitmq-server') !== undefined

export const SKIPPED =
  'skipped: there is no rabbitmq-server on this machine, and PUNCTUAL_TEST_AMQP is not set (Debian: apt-get install rabbitmq-server)'

export type NodeOptions = {
  readonly plugins?: readonly string[]
  /** Nodes of one cluster share both. */
  readonly cookie?: string
  readonly epmd?: Epmd
}

/** The name service of Erlang. In the foreground, so that it ends with us. */
export class Epmd {
  readonly port: number
  readonly #child: ChildProcess

  private constructor(port: number, child: ChildProcess) {
    this.port = port
    this.#child = child
  }

  static async start(): Promise<Epmd> {
    const port = await freePort()
    const child = spawnGuarded('epmd', ['-address', '127.0.0.1', '-port', String(port)], process.env)
    await until('epmd listens', () => accepts(port))
    return new Epmd(port, child)
  }

  async stop(): Promise<void> {
    await end(this.#child)
  }
}

export class RabbitServer {
  readonly port: number
  readonly managementPort: number
  readonly name: string
  readonly #directory: string
  readonly #distPort: number
  readonly #epmd: Epmd
  readonly #ownsEpmd: boolean
  readonly #options: NodeOptions
  #process: ChildProcess | undefined

  private constructor(
    directory: string,
    ports: readonly [number, number, number],
    epmd: Epmd,
    options: NodeOptions,
  ) {
    this.#directory = directory
    ;[this.port, this.#distPort, this.managementPort] = ports
    this.name = `p${this.port}@localhost`
    this.#epmd = epmd
    this.#ownsEpmd = options.epmd === undefined
    this.#options = options
  }

  static start(options: NodeOptions = {}): Promise<RabbitServer> {
    return startingServer(async () => {
      const directory = await mkdtemp(join(tmpdir(), 'punctual-rabbit-'))
      const ports = [await freePort(), await freePort(), await freePort()] as const
      const server = new RabbitServer(directory, ports, options.epmd ?? (await Epmd.start()), options)
      await server.#prepare()
      await server.resume()
      return server
    })
  }

  get url(): string {
    return `amqp://127.0.0.1:${this.port}`
  }

  get managementUrl(): string {
    return `http://127.0.0.1:${this.managementPort}`
  }

  /** Starts the node, again after a kill, on the same ports and files. */
  async resume(): Promise<void> {
    this.launch()
    await until('rabbitmq answers', () => this.#answers())
  }

  launch(): void {
    this.#process = spawnGuarded(find('rabbitmq-server') ?? 'rabbitmq-server', [], this.#env())
  }

  async kill(): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child !== undefined) await end(child)
  }

  async stop(): Promise<void> {
    await this.kill()
    if (this.#ownsEpmd) await this.#epmd.stop()
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 5 })
  }

  async ctl(...words: string[]): Promise<string> {
    const program = find('rabbitmqctl') ?? 'rabbitmqctl'
    const { stdout } = await promisify(execFile)(program, ['-q', '-n', this.name, ...words], {
      env: this.#env(),
    })
    return stdout
  }

  /** A memory alarm: the broker takes no messages until it is lifted. */
  async alarm(isOn: boolean): Promise<void> {
    await this.ctl('set_vm_memory_high_watermark', isOn ? '0.00001' : '0.6')
  }

  async #prepare(): Promise<void> {
    for (const part of ['mnesia', 'log', 'home']) await mkdir(join(this.#directory, part))
    const lines = [
      `listeners.tcp.1 = 127.0.0.1:${this.port}`,
      'distribution.listener.interface = 127.0.0.1',
      'disk_free_limit.absolute = 50MB',
      'collect_statistics_interval = 500',
      'log.console = false',
      'log.file.level = error',
      'vm_memory_high_watermark.relative = 0.6',
      ...(this.#options.plugins?.includes('rabbitmq_management') === true
        ? ['management.tcp.ip = 127.0.0.1', `management.tcp.port = ${this.managementPort}`]
        : []),
    ]
    await writeFile(join(this.#directory, 'rabbitmq.conf'), `${lines.join('\n')}\n`)
    await writeFile(join(this.#directory, 'plugins'), `[${(this.#options.plugins ?? []).join(',')}].\n`)
    await writeFile(
      join(this.#directory, 'home', '.erlang.cookie'),
      this.#options.cookie ?? 'punctualtests',
      {
        mode: 0o400,
      },
    )
  }

  #env(): NodeJS.ProcessEnv {
    const { PATH } = process.env
    const inside = (part: string): string => join(this.#directory, part)
    return {
      ...(PATH === undefined ? {} : { PATH }),
      LANG: 'C.UTF-8',
      HOME: inside('home'),
      RABBITMQ_NODENAME: this.name,
      RABBITMQ_NODE_PORT: String(this.port),
      RABBITMQ_DIST_PORT: String(this.#distPort),
      ERL_EPMD_PORT: String(this.#epmd.port),
      ERL_EPMD_ADDRESS: '127.0.0.1',
      RABBITMQ_MNESIA_BASE: inside('mnesia'),
      RABBITMQ_LOG_BASE: inside('log'),
      RABBITMQ_CONFIG_FILE: inside('rabbitmq.conf'),
      RABBITMQ_ENABLED_PLUGINS_FILE: inside('plugins'),
      RABBITMQ_CONF_ENV_FILE: '/dev/null',
    }
  }

  async #answers(): Promise<boolean> {
    const connection = await amqplib.connect(this.url, { timeout: 2_000 })
    await connection.close()
    return true
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/**
 * A process group of its own, which ends when we do, however that happens: its shell reads from a pipe that nobody writes to,
 * and kills the group, itself included, when the pipe closes.
 */
function spawnGuarded(program: string, args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const guard = '"$@" </dev/null & cat >/dev/null; kill -9 0'
  const child = spawn('sh', ['-c', guard, 'guard', program, ...args], {
    env,
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  child.stdin?.on('error', () => undefined)
  return child
}

/** The whole process group. */
async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  process.kill(-child.pid, 'SIGKILL')
  await exited
}
