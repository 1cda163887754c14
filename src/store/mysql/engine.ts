import { UsageError, describe } from '../../core/errors.ts'
import type { Engine } from '../engine.ts'

/** What only a store on MySQL or MariaDB has among the options of a queue. */
export type MysqlOptions = {
  /** MySQL and MariaDB as well. `false`: tables that are missing or older are refused instead of migrated. Default true. */
  migrate?: boolean
}

/** No client of the user's is taken: what is given is a URL. */
function urlOf(target: string | object): string {
  return typeof target === 'string' ? target : ''
}

export const mysql: Engine = {
  name: 'mysql',
  schemes: ['mysql:', 'mariadb:'],
  urls: ['mysql://HOST:PORT/DATABASE', 'mariadb://HOST:PORT/DATABASE'],
  example: 'mysql://root@localhost:3306/punctual',
  help: 'messages live in a MySQL or MariaDB, shared by processes on many machines; produce inside your own transactions',
  reach: 'network',
  options: {
    durability: {
      help: 'what an acknowledged write has reached: primary, which is all that can be asked for here',
      parse: (value) => {
        if (value === 'primary') return value
        if (value !== 'replicated')
          throw new UsageError(
            'OPTION_INVALID',
            `durability is ${describe(value)}; with MySQL or MariaDB give "primary".`,
            { value },
          )
        throw new UsageError(
          'UNSUPPORTED',
          'durability is "replicated", which MySQL and MariaDB cannot promise: a semi-synchronous replica is waited for a while, and then no more; leave it out.',
          { value },
        )
      },
    },
    migrate: {
      help: 'false: tables that are missing or older are refused instead of migrated',
      parse: (value) => {
        if (typeof value === 'boolean') return value
        throw new UsageError('OPTION_INVALID', `migrate is ${describe(value)}; give true or false.`, {
          value,
        })
      },
    },
  },
  open: async (target, context, { migrate }) => {
    const { openMysqlStore } = await import('./open.ts')
    return openMysqlStore(urlOf(target), context, migrate === undefined ? {} : { migrate: migrate === true })
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
  migrationText: async (url) => {
    const [{ migrationText }, { parseMysqlUrl }] = await Promise.all([
      import('./migration.ts'),
      import('./address/url.ts'),
    ])
    parseMysqlUrl(url)
    return migrationText()
  },
}
