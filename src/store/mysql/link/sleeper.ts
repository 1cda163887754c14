/**
 * Hears wake-ups, on a session of its own that does nothing but sleep. There are no notifications in this database; but a
 * session that waits for a lock of the server can be ended by another one, with KILL QUERY, and then knows that something
 * happened.
 *
 *   sleeper   select … if(number = KNOWN, get_lock(MINE, 30), 0) from punctual_bell      looks and sleeps in one statement
 *   ringer    update punctual_bell set number = number + 1, …; then KILL QUERY of every session that sleeps there
 *
 * Nothing is lost in between: a sleeper that looked before the ringer's commit is in the list of sessions by then, and one
 * that looks after it sees another number. MINE is a lock that another session of the same store holds, so that no
 * other gets it. The session reads uncommitted: a statement that lasts half a minute must not keep old rows alive.
 *
 * A proxy may hide sessions from each other. So it is tried out at the start and every 30 seconds: another session ends
 * our sleep.
 *
 *   sleep ends          hears: wake-ups arrive
 *   it does not         deaf: everybody is called every 500 ms, and it is tried again
 */
import type { Timer } from '../../../clock.ts'
import type { Ring } from '../../sql/wakeups/bell.ts'
import { DEAF_LOOK_MS, Ear, type Hearing } from '../../sql/wakeups/hearing.ts'
import { parseRing, ringText, type SqlListener } from '../../sql/wakeups/wakeups.ts'
import { sql, textOf, type Statement } from '../sql/statement.ts'
import { MysqlLink, type MysqlLinkOptions } from './mysql-link.ts'
import { errorNumber, INTERRUPTED } from './refusals.ts'

const SLEEP_S = 30
const ECHO_EVERY_MS = 30_000
const ECHO_TIMEOUT_MS = 2_000
const ECHO_AGAIN_MS = 100
const PAUSE_MS = 200

export type SleeperOptions = Omit<MysqlLinkOptions, 'prepare' | 'ready' | 'lost'> & {
  readonly queue: () => Promise<number>
  /** A name of this store alone; also that of the lock, which `others` holds. */
  readonly lock: string
  /** Another session. */
  readonly others: MysqlLink
  readonly heard: (ring: Ring | undefined) => void
  /** No session can be woken, so none is made. */
  readonly isDeaf: boolean
}

export class MysqlSleeper implements SqlListener {
  readonly #options: SleeperOptions
  readonly #link: MysqlLink
  readonly #ear: Ear
  /** The last wake-up that we know of. */
  #known: number | undefined
  /** Since we asked, our sleep was ended by another session. */
  #isWoken = false
  #echo: Timer | undefined
  #isClosed = false

  constructor(options: SleeperOptions) {
    this.#options = options
    this.#ear = new Ear({
      ...options,
      look: () => options.heard(undefined),
      warning: `sessions cannot be woken here; looking every ${DEAF_LOOK_MS} ms instead. Let all processes use the same account, and connect past a proxy`,
      // Of a session that is away, its link has told.
      isExpected: () => options.isDeaf || this.#link.standing !== 'ready',
    })
    this.#link = new MysqlLink({
      ...options,
      prepare: async (connection) => {
        await connection.send((send) => send([sql`set session transaction isolation level read uncommitted`]))
        this.#known = undefined // What was rung meanwhile went unheard.
      },
    })
  }

  get hearing(): Hearing {
    return this.#ear.hearing
  }

  start(): void {
    if (!this.#ear.start()) return
    if (this.#options.isDeaf) return this.#ear.deaf()
    void this.#run()
    void this.#askEcho()
  }

  close(): void {
    this.#isClosed = true
    this.#echo?.cancel()
    this.#ear.close()
    this.#link.close()
  }

  /** Tells the others; our own session sleeps on, because what we rang for was told here. */
  async ring(ring: Ring): Promise<void> {
    const queue = await this.#options.queue()
    const [, numbers, sleepers] = (await this.#options.others.call((send) =>
      send([
        sql`insert into punctual_bell (queue, number, ring) values (${queue}, last_insert_id(1), ${ringText(ring)})
          on duplicate key update number = last_insert_id(number + 1), ring = values(ring)`,
        sql`select last_insert_id() as number`,
        this.#sleepers(queue, `%`),
      ]),
    )) as readonly (readonly Readonly<Record<string, unknown>>[])[]
    const number = Number(numbers?.[0]?.['number'])
    if (this.#known === number - 1) this.#known = number
    for (const row of sleepers ?? []) {
      if (textOf(row['info']).includes(this.#options.lock)) continue
      await this.#kill(Number(row['id']))
    }
  }

  /** Sleeps, hears, and sleeps again. */
  async #run(): Promise<void> {
    const { heard } = this.#options
    while (!this.#isClosed) {
      try {
        const queue = await this.#options.queue()
        await this.#hear(queue)
        await this.#sleep(queue)
      } catch (error) {
        // Two rang at once: the second one ended our look instead of our sleep, which is repeated.
        if (errorNumber(error) === INTERRUPTED) continue
        // The link connects again by itself; what was rung meanwhile went unheard.
        this.#known = undefined
        if (this.#isClosed) return
        await new Promise<void>((resolve) => this.#options.clock.schedule(PAUSE_MS, resolve))
        heard(undefined)
      }
    }
  }

  async #hear(queue: number): Promise<void> {
    const [rows = []] = (await this.#link.call((send) =>
      send([sql`select number, ring from punctual_bell where queue = ${queue}`]),
    )) as readonly (readonly Readonly<Record<string, unknown>>[])[]
    const number = Number(rows[0]?.['number'] ?? 0)
    const before = this.#known
    this.#known = number
    if (before === undefined || number < before || number > before + 1) this.#options.heard(undefined)
    else if (number === before + 1) this.#options.heard(parseRing(textOf(rows[0]?.['ring'])))
  }

  async #sleep(queue: number): Promise<void> {
    const { lock, callTimeoutMs } = this.#options
    const statement = sql`select ${marker(queue, lock)} if(coalesce((select number from punctual_bell where queue = ${queue}), 0)
      = ${this.#known ?? -1}, get_lock(${lock}, ${SLEEP_S}), 0) as got`
    try {
      const [rows = []] = (await this.#link.call(
        (send) => send([statement]),
        SLEEP_S * 1000 + callTimeoutMs,
      )) as readonly (readonly Readonly<Record<string, unknown>>[])[]
      const got = rows[0]?.['got']
      // One server ends the statement with an error, the other one lets it answer with nothing.
      if (got === null) this.#isWoken = true
      if (Number(got) !== 1) return
    } catch (error) {
      if (errorNumber(error) !== INTERRUPTED) throw error
      this.#isWoken = true
      return
    }
    // The session that holds the lock was lost, and its next one has to take it.
    await this.#link.call((send) => send([sql`do release_lock(${lock})`]))
    await this.#options.others.call((send) => send([sql`do get_lock(${lock}, 1)`]))
  }

  async #askEcho(): Promise<void> {
    const { clock, lock, others } = this.#options
    let deadline: number | undefined
    this.#isWoken = false
    try {
      const queue = await this.#options.queue()
      while (!this.#isClosed && !this.#isWoken && clock.monotonic() < (deadline ?? Infinity)) {
        const [rows = []] = (await others.call((send) =>
          send([this.#sleepers(queue, `${lock}%`)]),
        )) as readonly (readonly Readonly<Record<string, unknown>>[])[]
        // Counted from here: the question itself may have waited for a server that was restarted.
        deadline ??= clock.monotonic() + ECHO_TIMEOUT_MS
        for (const row of rows) await this.#kill(Number(row['id']))
        await new Promise<void>((resolve) => clock.schedule(ECHO_AGAIN_MS, resolve))
      }
      if (this.#isClosed) return
      if (this.#isWoken) this.#ear.hears()
      else this.#ear.deaf()
    } catch {
      // The question was not sent; the store's own calls tell that the server is away.
    }
    if (this.#isClosed) return
    this.#echo = clock.schedule(ECHO_EVERY_MS, () => void this.#askEcho())
    this.#echo.unref?.()
  }

  /** Ends what a session does; ours do nothing but sleep. One that is awake by now, or another user's, is left alone. */
  async #kill(id: number): Promise<void> {
    await this.#options.others.call((send) => send([sql`kill query ${id}`])).catch(() => undefined)
  }

  #sleepers(queue: number, which: string): Statement {
    const begins = `select ${commentOf(queue, '')}`
    return sql`select id, info from information_schema.processlist
      where db = database() and command = 'Query' and info like ${begins.replaceAll('_', '\\_') + which}`
  }
}

/** By which a sleeper is found in the list of sessions. */
function commentOf(queue: number, lock: string): string {
  return `/* punctual sleeps ${queue} ${lock}`
}

function marker(queue: number, lock: string): Statement {
  return { text: `${commentOf(queue, lock)} */`, values: [] }
}
