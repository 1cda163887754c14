import { UsageError, describe } from '../../core/errors.ts'
import { sqlEngine } from '../sql/server/registration.ts'

/** What only a PostgreSQL store has among the options of a queue. */
export type PostgresOptions = {
  /** PostgreSQL only. `false`: a schema that is missing or older is refused instead of migrated. Default true. */
  migrate?: boolean
}

export const postgres = sqlEngine({
  name: 'postgres',
  schemes: ['postgres:', 'postgresql:'],
  urls: ['postgres://HOST:PORT/DATABASE'],
  example: 'postgres://localhost:5432/postgres',
  help: 'messages live in a PostgreSQL, shared by processes on many machines; produce inside your own transactions',
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
  tables: 'a schema that is missing or older is',
  foreign: [
    {
      name: 'pg-boss',
      prefix: 'pgboss',
      hasRanks: true,
      canTake: true,
      open: async (url, where) => (await import('./foreign/pg-boss.ts')).openPgBoss(url, where),
    },
  ],
  load: async () => {
    const [{ openPostgresStore: open }, { serverAt }] = await Promise.all([
      import('./open.ts'),
      import('./server.ts'),
    ])
    return { open, serverAt }
  },
})
