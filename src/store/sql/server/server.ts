/**
 * A server by its URL: what is asked about it before a store is opened, and what is done to it without opening one. A
 * dialect says how each is done (`SqlServer`, made by its own `server.ts`).
 */
import { systemClock } from '../../../clock.ts'
import { UnavailableError } from '../../../core/errors.ts'
import type { Logger } from '../../../core/log.ts'
import { systemRandom } from '../../../random.ts'
import type { DoneMigration, QueueList, QueuesContext } from '../../engine.ts'
import type { LinkConnection, StoreLinkOptions } from '../../link/link.ts'
import type { Timeouts } from '../../shared/url-options.ts'
import type { SchemaState, SqlTables } from './migrating.ts'
import type { SqlRefusals } from './refusals.ts'

const NAMES_MAX = 10_000
const PROBE_MS_MAX = 1_000

/** One attempt to connect. */
export type SqlAttempt = Pick<LinkConnection<never>, 'open' | 'destroy'>

/** A connection that is there whenever it can be, asked by those who hold no store. */
export interface SqlAsking {
  /** Undefined: nothing of ours is there. */
  readSchema(): Promise<SchemaState | undefined>
  /** In the order of the alphabet. */
  queueNames(max: number): Promise<readonly string[]>
  close(): void
}

export type AskingOptions = Pick<
  StoreLinkOptions<never, LinkConnection<never>>,
  'name' | 'server' | 'clock' | 'random' | 'logger' | keyof Timeouts
>

export type SqlServer = {
  readonly tables: SqlTables
  readonly timeouts: Timeouts
  readonly refusals: SqlRefusals
  /** What should run there, as a question names it. */
  readonly software: string
  /** What to do where the tables are not there. */
  readonly absence: string
  readonly attempt: (connectTimeoutMs: number) => SqlAttempt
  readonly ask: (options: AskingOptions) => SqlAsking
  readonly migrate: (logger: Logger) => Promise<number | undefined>
  readonly migrationText: () => string
}

/** Certain at once; everything else may be slowness, for which the link has its patience. */
const CERTAIN = /ECONNREFUSED|ENOTFOUND|ENOENT/

/** Resolves unless it is certain that no server answers. */
export async function probe(server: SqlServer): Promise<void> {
  const connection = server.attempt(Math.min(server.timeouts.connectTimeoutMs, PROBE_MS_MAX))
  try {
    await connection.open()
  } catch (error) {
    const reason = server.refusals.toError(error, server.tables.server)
    if (reason.code === 'STORE_CLIENT_MISSING') throw reason
    if (CERTAIN.test((error as NodeJS.ErrnoException).code ?? ''))
      throw new UnavailableError(
        'STORE_UNAVAILABLE',
        `${reason.message} Does ${server.software} run there?`,
        { cause: error },
      )
  } finally {
    connection.destroy()
  }
}

/** Whether tables of ours are there, of whichever version. */
export function isMigrated(server: SqlServer): Promise<boolean> {
  // What fails is thrown.
  const logger = { warn: () => undefined, error: () => undefined }
  const context = { clock: systemClock, random: systemRandom, logger }
  return asking(server, { ...context, name: 'punctual:probe' }, async (there) => {
    return (await there.readSchema()) !== undefined
  })
}

export function listQueues(server: SqlServer, context: QueuesContext): Promise<QueueList> {
  return asking(server, { ...context, name: 'punctual:queues' }, async (there) => {
    const names = await there.queueNames(NAMES_MAX + 1).catch((error: unknown) => {
      if (server.refusals.isMissing(error)) return [] // Nothing was ever stored there.
      throw error
    })
    return { names: names.slice(0, NAMES_MAX), isComplete: names.length <= NAMES_MAX }
  })
}

export async function migrateServer(server: SqlServer, logger: Logger): Promise<DoneMigration | undefined> {
  const from = await server.migrate(logger)
  return from === undefined ? undefined : { what: server.tables.name, from, to: server.tables.version }
}

async function asking<R>(
  server: SqlServer,
  context: QueuesContext & { readonly name: string },
  question: (there: SqlAsking) => Promise<R>,
): Promise<R> {
  const there = server.ask({ ...context, ...server.timeouts, server: server.tables.server })
  try {
    return await question(there)
  } catch (error) {
    throw server.refusals.toError(error, server.tables.server)
  } finally {
    there.close()
  }
}
