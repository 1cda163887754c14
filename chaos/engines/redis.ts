/** A real redis-server that writes each change to its disk before it answers, behind a proxy for each process. */
import { join } from 'node:path'
import { RedisServer } from '../../test/store/redis/server.ts'
import type { Log } from '../children/log.mjs'
import { Volume } from '../volume.ts'
import { sleep } from '../waiting.ts'
import type { Engine, Strike } from './engine.ts'
import { isLineFault, LINE_FAULTS, Lines } from './lines.ts'

const VOLUME_MIB = 192
const CONFIG = `--appendonly yes --appendfsync always
  --auto-aof-rewrite-min-size 8mb --maxmemory-policy noeviction`.split(/\s+/)

export class RedisEngine implements Engine {
  readonly name = 'redis'
  readonly remarks: readonly string[]
  readonly faults: Readonly<Record<string, number>>
  readonly faultGapMs = 4_500
  readonly forgets = []
  readonly isFreezeForAll = false
  readonly hasLimits = true
  readonly #server: RedisServer
  readonly #volume: Volume
  readonly #lines = new Lines()

  private constructor(server: RedisServer, volume: Volume) {
    this.#server = server
    this.#volume = volume
    this.remarks = volume.remarks
    this.faults = {
      'kill server': 3,
      'freeze server': 2,
      'restart server': 1.5,
      ...LINE_FAULTS,
      'kill clients': 2,
      'kill subscribers': 2,
      'flush scripts': 2,
      'pause clients': 1,
      'full memory': 1.5,
      ...(volume.isMounted ? { 'full disk': 1.5 } : {}),
    }
  }

  static async open(directory: string): Promise<RedisEngine> {
    const volume = new Volume(join(directory, 'redis'), VOLUME_MIB)
    try {
      return new RedisEngine(await RedisServer.start({ config: CONFIG, directory: volume.directory }), volume)
    } catch (error) {
      volume.end()
      throw error
    }
  }

  urlFor(place: string): Promise<string> {
    return this.#lines.urlFor(place, this.#server)
  }

  async inflict(kind: string, strike: Strike): Promise<void> {
    if (isLineFault(kind)) return this.#lines.inflict(kind, strike)
    const { lastsMs } = strike
    strike.begins('server', true)
    switch (kind) {
      case 'kill server':
        await this.#server.kill()
        await sleep(lastsMs / 2)
        return this.#server.resume()
      case 'restart server':
        await this.#server.terminate()
        return this.#server.resume()
      case 'freeze server':
        this.#server.signal('SIGSTOP')
        await sleep(lastsMs)
        return this.#server.signal('SIGCONT')
      case 'kill clients':
        return this.#ask(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'])
      case 'kill subscribers':
        return this.#ask(['CLIENT', 'KILL', 'TYPE', 'pubsub'])
      case 'flush scripts':
        return this.#ask(['SCRIPT', 'FLUSH'])
      case 'pause clients':
        await this.#ask(['CLIENT', 'PAUSE', String(lastsMs), 'ALL'])
        return sleep(lastsMs)
      case 'full memory':
        await this.#ask(['CONFIG', 'SET', 'maxmemory', '1'])
        await sleep(lastsMs)
        return this.#ask(['CONFIG', 'SET', 'maxmemory', '0'])
      case 'full disk':
        return this.#fillDisk(lastsMs)
      default:
        throw new Error(`an unknown fault: ${kind}`)
    }
  }

  /** With `appendfsync always` a server that cannot write ends itself, rather than to answer what it cannot keep. */
  async #fillDisk(lastsMs: number): Promise<void> {
    await this.#volume.fill()
    await sleep(lastsMs)
    await this.#volume.clear()
    if (!this.#server.isRunning) await this.#server.resume()
  }

  async heal(): Promise<void> {
    this.#lines.heal()
    if (!this.#server.isRunning) await this.#server.resume()
    await this.#ask(['CONFIG', 'SET', 'maxmemory', '0'])
  }

  async sample(log: Log): Promise<void> {
    const info = String(await this.#server.admin(['INFO', 'memory']))
    const serverMemory = Number(/used_memory:(\d+)/.exec(info)?.[1] ?? 0)
    const clients = String(await this.#server.admin(['CLIENT', 'LIST'])).split('\n').length - 1
    log.write({
      what: 'sample',
      serverMemory,
      clients,
      keys: Number(await this.#server.admin(['DBSIZE'])),
    })
  }

  isExpected(): boolean {
    return false
  }

  async leftovers(): Promise<readonly string[]> {
    const keys = (await this.#server.admin(['KEYS', '*'])) as readonly string[]
    return keys.filter((key) => !/:(?:order|workers|facts|figures:\d+)$/.test(key))
  }

  async end(): Promise<void> {
    await this.#lines.close()
    await this.#server.kill()
    this.#volume.end()
  }

  async #ask(command: readonly string[]): Promise<void> {
    await this.#server.admin(command)
  }
}
