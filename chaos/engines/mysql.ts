/** A real MariaDB that writes each commit to its disk, behind a proxy for each process. */
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { MysqlServer, connectionTo } from '../../test/store/mysql/server.ts'
import { Proxy } from '../../test/store/redis/proxy.ts'
import type { Log } from '../children/log.mjs'
import { Volume } from '../volume.ts'
import { sleep } from '../waiting.ts'
import type { Engine, Strike } from './engine.ts'

const LOCKED_ROWS = 20
const VOLUME_MIB = 640

export class MysqlEngine implements Engine {
  readonly name = 'mysql'
  readonly remarks: readonly string[]
  readonly faults: Readonly<Record<string, number>>
  readonly faultGapMs = 4_500
  readonly forgets: readonly string[] = []
  readonly isFreezeForAll = false
  readonly hasLimits = true
  readonly #server: MysqlServer
  readonly #volume: Volume
  readonly #proxies = new Map<string, Proxy>()

  private constructor(server: MysqlServer, volume: Volume) {
    this.#server = server
    this.#volume = volume
    this.remarks = volume.isMounted
      ? []
      : ['mounting a tmpfs is not allowed here: the disk is never full in this run']
    this.faults = {
      'kill server': 3,
      'restart server': 1.5,
      'freeze server': 2,
      cut: 4,
      'half-open': 4,
      'cut all': 1,
      'half-open all': 1,
      'kill connections': 3,
      'kill storm': 1,
      'kill sleepers': 2,
      'held transaction': 2,
      'held locks': 2,
      ...(volume.isMounted ? { 'full disk': 1.5 } : {}),
    }
  }

  static async open(directory: string): Promise<MysqlEngine> {
    chmodSync(directory, 0o711) // The server runs as another user.
    const volume = new Volume(join(directory, 'mysql'), VOLUME_MIB)
    try {
      return new MysqlEngine(await MysqlServer.start({ directory: volume.directory }), volume)
    } catch (error) {
      volume.end()
      throw error
    }
  }

  async urlFor(place: string): Promise<string> {
    if (place === '') return this.#server.url
    const proxy = this.#proxies.get(place) ?? (await Proxy.before(this.#server.port))
    this.#proxies.set(place, proxy)
    const url = new URL(this.#server.url)
    url.port = new URL(proxy.url).port
    return url.href
  }

  async inflict(kind: string, { lastsMs, places, pick, begins }: Strike): Promise<void> {
    const place = places[Math.floor(pick * places.length)] ?? ''
    const one = [this.#proxies.get(place)].filter((proxy) => proxy !== undefined)
    const all = [...this.#proxies.values()]
    const isForOne = kind === 'cut' || kind === 'half-open'
    begins(isForOne ? place : 'server', !isForOne)
    switch (kind) {
      case 'kill server':
        return this.#endFor(lastsMs / 2, 'SIGKILL')
      case 'restart server':
        return this.#endFor(0, 'SIGTERM')
      case 'freeze server':
        return this.#freeze(lastsMs)
      case 'cut':
        return one.forEach((proxy) => proxy.cut())
      case 'cut all':
        return all.forEach((proxy) => proxy.cut())
      case 'half-open':
        return fallSilent(one, lastsMs)
      case 'half-open all':
        return fallSilent(all, lastsMs)
      case 'kill connections':
        return this.#killConnections('%')
      case 'kill sleepers':
        return this.#killConnections('%punctual sleeps%')
      case 'kill storm':
        for (const endsAt = performance.now() + lastsMs; performance.now() < endsAt;) {
          await this.#killConnections('%')
          await sleep(100)
        }
        return
      case 'held transaction':
        return this.#hold('select count(*) from punctual_message', lastsMs)
      case 'held locks':
        return this.#hold(
          `select 1 from punctual_message force index (primary) order by seq limit ${LOCKED_ROWS} for update skip locked`,
          lastsMs,
        )
      case 'full disk':
        return this.#fillDisk(lastsMs)
      default:
        throw new Error(`an unknown fault: ${kind}`)
    }
  }

  async #endFor(lastsMs: number, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    await this.#server.end(signal)
    await sleep(lastsMs)
    await this.#server.resume()
  }

  async #freeze(lastsMs: number): Promise<void> {
    process.kill(this.#server.pid, 'SIGSTOP')
    await sleep(lastsMs)
    process.kill(this.#server.pid, 'SIGCONT')
  }

  /** `statement`: what the session does just now. */
  async #killConnections(statement: string): Promise<void> {
    const connection = await connectionTo(this.#server.url)
    try {
      const rows = (await connection.query(
        `select id from information_schema.processlist where db = database() and id <> connection_id()
          and coalesce(info, '') like ?`,
        [statement],
      )) as { id: number }[]
      for (const { id } of rows) await connection.query(`kill connection ${id}`).catch(() => undefined)
    } finally {
      await connection.end()
    }
  }

  /** As somebody would who left a client open. */
  async #hold(statement: string, lastsMs: number): Promise<void> {
    const connection = await connectionTo(this.#server.url)
    try {
      await connection.query('start transaction with consistent snapshot')
      await connection.query(statement)
      await sleep(lastsMs)
      await connection.query('rollback')
    } finally {
      await connection.end()
    }
  }

  async #fillDisk(lastsMs: number): Promise<void> {
    await this.#volume.fill()
    await sleep(lastsMs)
    await this.#volume.clear()
    await this.#server.resume() // Where it could not go on, it ended itself.
  }

  async heal(): Promise<void> {
    for (const proxy of this.#proxies.values()) proxy.speakAgain()
    await this.#volume.clear()
    await this.#server.resume()
  }

  async sample(log: Log): Promise<void> {
    const [row] = await this.#server.query(
      `select (select sum(data_length + index_length) from information_schema.tables where table_schema = database()) as disk,
        (select count(*) from information_schema.processlist where db = database()) as clients`,
    )
    log.write({ what: 'sample', disk: Number(row?.['disk']), clients: Number(row?.['clients']) })
  }

  isExpected(): boolean {
    return false
  }

  async leftovers(): Promise<readonly string[]> {
    const rows = await this.#server.query(
      `select concat('message ', id) as what from punctual_message
        union all select concat('tag of ', id) from punctual_tag
        union all select concat('control of ', topic) from punctual_control
        union all select concat('counts of ', topic) from (
          select topic, sum(waiting) as waiting, sum(running) as running, sum(dead) as dead from (
            select topic, waiting, running, dead from punctual_total where topic <> ''
            union all select topic, waiting, running, dead from punctual_delta) s group by topic) c
          where waiting <> 0 or running <> 0 or dead <> 0`,
    )
    return rows.map(({ what }) => String(what))
  }

  async end(): Promise<void> {
    for (const proxy of this.#proxies.values()) await proxy.close()
    await this.#server.end('SIGKILL')
    this.#volume.end()
  }
}

async function fallSilent(proxies: readonly Proxy[], lastsMs: number): Promise<void> {
  for (const proxy of proxies) proxy.fallSilent()
  await sleep(lastsMs)
  for (const proxy of proxies) proxy.speakAgain()
}
