/** A real MariaDB that writes each commit to its disk, behind a proxy for each process. */
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { MysqlServer, connectionTo } from '../../test/store/mysql/server.ts'
import type { Log } from '../children/log.mjs'
import { Volume } from '../volume.ts'
import { sleep } from '../waiting.ts'
import type { Engine, Strike } from './engine.ts'
import { isLineFault, LINE_FAULTS, Lines } from './lines.ts'

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
  readonly #lines = new Lines()

  private constructor(server: MysqlServer, volume: Volume) {
    this.#server = server
    this.#volume = volume
    this.remarks = volume.remarks
    this.faults = {
      'kill server': 3,
      'restart server': 1.5,
      'freeze server': 2,
      ...LINE_FAULTS,
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

  urlFor(place: string): Promise<string> {
    return this.#lines.urlFor(place, this.#server)
  }

  async inflict(kind: string, strike: Strike): Promise<void> {
    if (isLineFault(kind)) return this.#lines.inflict(kind, strike)
    const { lastsMs } = strike
    strike.begins('server', true)
    switch (kind) {
      case 'kill server':
        return this.#endFor(lastsMs / 2, 'SIGKILL')
      case 'restart server':
        return this.#endFor(0, 'SIGTERM')
      case 'freeze server':
        return this.#freeze(lastsMs)
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
    this.#lines.heal()
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
    await this.#lines.close()
    await this.#server.end('SIGKILL')
    this.#volume.end()
  }
}
