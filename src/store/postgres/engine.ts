import { UsageError, describe } from '../../core/errors.ts'
import type { Engine } from '../engine.ts'

/** What only a PostgreSQL store has among the options of a queue. */
export type PostgresOptions = {
  /** PostgreSQL only. `false`: a schema that is missing or older is refused instead of migrated. Default true. */
  migrate?: boolean
}

/** No client of the user's is taken: what is given is a URL. */
function urlOf(target: string | object): string {
  return typeof target === 'string' ? target : ''
}

export const postgres: Engine = {
  name: 'postgres',
  schemes: ['postgres:', 'postgresql:'],
  urls: ['postgres://HOST:PORT/DATABASE'],
  example: 'postgres://localhost:5432/postgres',
  help: 'messages live in a PostgreSQL, shared by processes on many machines; produce inside your own transactions',
  reach: 'network',
  options: {
    durability: {
      help: 'what an acknowledged write has reached: primary (default), or replicated: a synchronous standby has it too',
      parse: (value) => {
        if (value === 'primary' || value === 'replicated') return value
        throw new UsageError(
          'OPTION_INVALID',
          `durability is ${describe(value)}; with PostgreSQL give "primary" or "replicated": how many standbys that means is said by its synchronous_standby_names.`,
          { value },
        )
      },
    },
    migrate: {
      help: 'false: a schema that is missing or older is refused instead of migrated',
      parse: (value) => {
        if (typeof value === 'boolean') return value
        throw new UsageError('OPTION_INVALID', `migrate is ${describe(value)}; give true or false.`, {
          value,
        })
      },
    },
  },
  open: async (target, context, { migrate, durability }) => {
    const { openPostgresStore } = await import('./open.ts')
    return openPostgresStore(urlOf(target), context, {
      ...(migrate === undefined ? {} : { migrate: migrate === true }),
      ...(durability === undefined ? {} : { durability: durability as 'primary' | 'replicated' }),
    })
  },
  exists: async (url) => {
    const { isMigrated } = await import('./probe.ts')
    return isMigrated(url)
  },
  absence: async (url) => {
    const { absenceOf } = await import('./probe.ts')
    return absenceOf(url)
  },
  probe: async (url) => {
    const { probe } = await import('./probe.ts')
    await probe(url)
  },
  queues: async (target, context) => {
    const { listQueues } = await import('./queues.ts')
    return listQueues(urlOf(target), context)
  },
  migrate: async (target, context) => {
    const { migrateUrl } = await import('./probe.ts')
    return migrateUrl(urlOf(target), context.logger)
  },
  foreign: [
    {
      name: 'pg-boss',
      prefix: 'pgboss',
      hasRanks: true,
      canTake: true,
      open: async (url, where) => (await import('./foreign/pg-boss.ts')).openPgBoss(url, where),
    },
  ],
  migrationText: async (url) => {
    const { migrationOf } = await import('./probe.ts')
    return migrationOf(url)
  },
}
