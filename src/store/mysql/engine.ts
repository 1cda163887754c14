import { UsageError, describe } from '../../core/errors.ts'
import { sqlEngine } from '../sql/server/registration.ts'

/** What only a store on MySQL or MariaDB has among the options of a queue. */
export type MysqlOptions = {
  /** MySQL and MariaDB as well. `false`: tables that are missing or older are refused instead of migrated. Default true. */
  migrate?: boolean
}

export const mysql = sqlEngine({
  name: 'mysql',
  schemes: ['mysql:', 'mariadb:'],
  urls: ['mysql://HOST:PORT/DATABASE', 'mariadb://HOST:PORT/DATABASE'],
  example: 'mysql://root@localhost:3306/punctual',
  help: 'messages live in a MySQL or MariaDB, shared by processes on many machines; produce inside your own transactions',
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
  tables: 'tables that are missing or older are',
  load: async () => {
    const [{ openMysqlStore: open }, { serverAt }] = await Promise.all([
      import('./open.ts'),
      import('./server.ts'),
    ])
    return { open, serverAt }
  },
})
