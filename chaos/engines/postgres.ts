/** A real PostgreSQL that writes each commit to its disk, behind a proxy for each process. */
import { execFileSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { PostgresServer } from '../../test/store/postgres/server.ts'
import type { Log } from '../children/log.mjs'
import { Volume } from '../volume.ts'
import { sleep } from '../waiting.ts'
import type { Engine, Strike } from './engine.ts'
import { isLineFault, LINE_FAULTS, Lines } from './lines.ts'

const VOLUME_MIB = 512
/** A small log, so that the small disk is filled by ballast and not by it. */
const SETTINGS = [
  'max_wal_size = 96MB',
  'min_wal_size = 32MB',
  'checkpoint_timeout = 30s',
  'restart_after_crash = on',
]
const LOCKED_ROWS = 20

const SERIALIZATION_FAILURE = '40001'

export class PostgresEngine implements Engine {
  readonly name = 'postgres'
  readonly remarks: readonly string[]
  readonly faults: Readonly<Record<string, number>>
  readonly faultGapMs = 4_500
  /** Its claims do not wait for the disk. */
  readonly forgets = ['kill server', 'crash server', 'kill backend', 'full disk']
  readonly isFreezeForAll = false
  readonly hasLimits = true
  readonly #server: PostgresServer
  readonly #volume: Volume
  readonly #lines = new Lines()

  private constructor(server: PostgresServer, volume: Volume) {
    this.#server = server
    this.#volume = volume
    this.remarks = volume.remarks
    this.faults = {
      'kill server': 2,
      'crash server': 2,
      'kill backend': 2,
      'restart server': 1.5,
      'freeze server': 2,
      ...LINE_FAULTS,
      'terminate sessions': 3,
      'terminate storm': 1,
      'terminate listeners': 2,
      'held transaction': 2,
      'held locks': 2,
      ...(volume.isMounted ? { 'full disk': 1.5 } : {}),
    }
  }

  static async open(directory: string): Promise<PostgresEngine> {
    chmodSync(directory, 0o711) // The server runs as another user.
    const volume = new Volume(join(directory, 'postgres'), VOLUME_MIB)
    try {
      const server = await PostgresServer.start({ settings: SETTINGS, directory: volume.directory })
      return new PostgresEngine(server, volume)
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
    const { lastsMs, pick } = strike
    strike.begins('server', true)
    switch (kind) {
      case 'kill server':
        return this.#endFor(lastsMs / 2, 'SIGKILL')
      case 'crash server':
        return this.#endFor(lastsMs / 2, 'SIGQUIT')
      case 'restart server':
        return this.#endFor(0, 'SIGINT')
      case 'kill backend':
        // The server takes it for a crash of all of them, and recovers.
        return this.#killBackend(pick)
      case 'freeze server':
        return this.#freeze(lastsMs)
      case 'terminate sessions':
        return this.#terminate('')
      case 'terminate listeners':
        return this.#terminate(':wakeups')
      case 'terminate storm':
        return this.#terminateFor(lastsMs)
      case 'held transaction':
        return this.#hold('select count(*) from punctual.message', lastsMs)
      case 'held locks':
        return this.#hold(
          `select 1 from punctual.message order by random() limit ${LOCKED_ROWS} for update skip locked`,
          lastsMs,
        )
      case 'full disk':
        return this.#fillDisk(lastsMs)
      default:
        throw new Error(`an unknown fault: ${kind}`)
    }
  }

  async #endFor(lastsMs: number, signal: 'SIGKILL' | 'SIGQUIT' | 'SIGINT'): Promise<void> {
    await this.#server.end(signal)
    await sleep(lastsMs)
    await this.#server.resume()
  }

  async #killBackend(pick: number): Promise<void> {
    const rows = await this.#server.query(
      "select pid from pg_stat_activity where application_name like 'punctual:%' and pid <> pg_backend_pid()",
    )
    const pid = rows[Math.floor(pick * rows.length)]?.['pid']
    if (typeof pid === 'number') process.kill(pid, 'SIGKILL')
    await this.#server.whenAnswering()
  }

  /** With all its children: the one that started them does nothing that matters here. */
  async #freeze(lastsMs: number): Promise<void> {
    const pids = [this.#server.pid, ...childrenOf(this.#server.pid)]
    signalAll(pids, 'SIGSTOP')
    await sleep(lastsMs)
    signalAll(pids, 'SIGCONT')
  }

  async #terminateFor(lastsMs: number): Promise<void> {
    for (const endsAt = performance.now() + lastsMs; performance.now() < endsAt;) {
      await this.#terminate('')
      await sleep(100)
    }
  }

  /** `part`: of the name that the session gave itself. */
  async #terminate(part: string): Promise<void> {
    await this.#server.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where application_name like $1 and pid <> pg_backend_pid()',
      [`punctual:%${part}`],
    )
  }

  /** As somebody would who left psql open. */
  async #hold(statement: string, lastsMs: number): Promise<void> {
    const client = new pg.Client({ connectionString: this.#server.url })
    client.on('error', () => undefined)
    await client.connect()
    try {
      await client.query('begin isolation level repeatable read')
      await client.query(statement)
      await sleep(lastsMs)
      await client.query('rollback')
    } catch (error) {
      // Somebody changed the rows that it wanted to lock: this time nothing is held.
      if ((error as { code?: unknown }).code !== SERIALIZATION_FAILURE) throw error
    } finally {
      await client.end()
    }
  }

  /** A server that cannot write its log ends itself, rather than to acknowledge what it cannot keep. */
  async #fillDisk(lastsMs: number): Promise<void> {
    await this.#volume.fill()
    await sleep(lastsMs)
    await this.#volume.clear()
    await this.#revive()
  }

  async #revive(): Promise<void> {
    if (!this.#server.isRunning) await this.#server.resume()
    else await this.#server.whenAnswering()
  }

  async heal(): Promise<void> {
    this.#lines.heal()
    await this.#volume.clear()
    await this.#revive()
  }

  async sample(log: Log): Promise<void> {
    const [row] = await this.#server.query(
      `select pg_database_size(current_database())::float8 as disk,
        (select count(*)::int from pg_stat_activity where application_name like 'punctual:%') as clients`,
    )
    log.write({ what: 'sample', disk: Number(row?.['disk']), clients: Number(row?.['clients']) })
  }

  isExpected(): boolean {
    return false
  }

  async leftovers(): Promise<readonly string[]> {
    const rows = await this.#server.query(
      `select 'message ' || id as what from punctual.message
        union all select 'control of ' || topic from punctual.control
        union all select 'counts of ' || topic from (
          select topic, sum(waiting) as waiting, sum(running) as running, sum(dead) as dead from (
            select topic, waiting, running, dead from punctual.total where topic <> ''
            union all select topic, waiting, running, dead from punctual.delta) s group by topic) c
          where waiting <> 0 or running <> 0 or dead <> 0`,
    )
    return rows.map(({ what }) => String(what))
  }

  async end(): Promise<void> {
    await this.#lines.close()
    await this.#server.end('SIGQUIT')
    this.#volume.end()
  }
}

function childrenOf(pid: number): number[] {
  try {
    const listed = execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
    return listed.split('\n').flatMap((line) => (line.trim() === '' ? [] : [Number(line)]))
  } catch {
    return [] // It has none.
  }
}

function signalAll(pids: readonly number[], signal: 'SIGSTOP' | 'SIGCONT'): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended meanwhile.
    }
  }
}
