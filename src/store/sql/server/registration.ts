/** What the registration of a dialect says, made an engine. Loaded with the package: the rest is loaded when it is called. */
import { UsageError, describe } from '../../../core/errors.ts'
import type { Store } from '../../contract/store.ts'
import type { Engine, EngineOption, EngineOptionValues, StoreContext } from '../../engine.ts'
import type * as asking from './server.ts'

type Said = Pick<Engine, 'name' | 'schemes' | 'urls' | 'example' | 'help' | 'foreign'>

export type SqlRegistration = Said & {
  readonly durability: EngineOption
  /** What `migrate: false` refuses: "a schema that is missing or older is". */
  readonly tables: string
  readonly load: () => Promise<SqlDialect>
}

/** Values of options win over those in the URL. */
export type SqlDialect = {
  readonly open: (url: string, context: StoreContext, options: EngineOptionValues) => Store
  readonly serverAt: (url: string) => asking.SqlServer
}

export function sqlEngine({ durability, tables, load, ...said }: SqlRegistration): Engine {
  const at = async (url: string): Promise<asking.SqlServer> => (await load()).serverAt(url)
  return {
    ...said,
    reach: 'network',
    options: {
      durability,
      migrate: {
        help: `false: ${tables} refused instead of migrated`,
        parse: (value) => {
          if (typeof value === 'boolean') return value
          throw new UsageError('OPTION_INVALID', `migrate is ${describe(value)}; give true or false.`, {
            value,
          })
        },
      },
    },
    open: async (target, context, options) => (await load()).open(urlOf(target), context, options),
    exists: async (url) => (await ask()).isMigrated(await at(url)),
    absence: async (url) => (await at(url)).absence,
    probe: async (url) => (await ask()).probe(await at(url)),
    queues: async (target, context) => (await ask()).listQueues(await at(urlOf(target)), context),
    migrate: async (target, { logger }) => (await ask()).migrateServer(await at(urlOf(target)), logger),
    migrationText: async (url) => (await at(url)).migrationText(),
  }
}

function ask(): Promise<typeof asking> {
  return import('./server.ts')
}

/** No client of the user's is taken: what is given is a URL. */
function urlOf(target: string | object): string {
  return typeof target === 'string' ? target : ''
}
