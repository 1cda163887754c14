/** Who answers at an address: a MySQL or a MariaDB, of which version, that takes writes; everything else is refused by its name. */
import { UnavailableError, UsageError } from '../../../core/errors.ts'
import { refuseUnsuited, type Consent } from '../../shared/suited.ts'
import type { DriverConnection } from './driver.ts'
import { PRODUCTS, TELLING_VARIABLES } from './products.ts'

/** Every server that speaks the protocol answers this, and no other statement comes with it: some take one at a time. */
const WHO_IS_THERE = 'select version() as version, @@version_comment as version_comment'
const NAMES = ['read_only', ...TELLING_VARIABLES].map((name) => `'${name}'`).join(', ')
/** Goes with the settings of a session. */
export const TELLING = `show global variables where variable_name in (${NAMES})`

const MARIADB_NEEDED = [10, 6] as const
const MYSQL_NEEDED = [8, 0] as const

export function isMariaDb(version: string): boolean {
  return /mariadb/i.test(version)
}

/** A server that is refused by what it says of itself, or is too old, rejects. */
export async function askVersion(
  opened: DriverConnection,
  allowed: readonly Consent[] | undefined,
): Promise<string> {
  const [row] = (await opened.query({ sql: WHO_IS_THERE })) as readonly {
    readonly version: string
    readonly version_comment: string
  }[]
  const { version = '', version_comment = '' } = row ?? {}
  refuseUnsuited(PRODUCTS, [`version ${version}`, `version_comment ${version_comment}`], allowed)
  refuseOld(version)
  return version
}

export type Variable = { readonly Variable_name: string; readonly Value: string }

/** What only its variables tell; and one that takes no writes rejects. */
export function refuseByVariables(
  variables: readonly Variable[],
  allowed: readonly Consent[] | undefined,
): void {
  const values = new Map(variables.map(({ Variable_name, Value }) => [Variable_name.toLowerCase(), Value]))
  const said = Array.from(values, ([name, value]) => `${name} ${value}`)
  refuseUnsuited(PRODUCTS, said, allowed)
  if ((values.get('read_only') ?? 'OFF') === 'OFF') return
  throw new UnavailableError(
    'STORE_UNAVAILABLE',
    'this server takes no writes (read_only); if no failover is under way, point the URL at the primary.',
  )
}

function refuseOld(version: string): void {
  // Some MariaDB servers say "5.5.5-" first, for old replicas.
  const [major = 0, minor = 0] = version
    .replace(/^5\.5\.5-/, '')
    .split('.')
    .map((part) => Number.parseInt(part, 10))
  const [neededMajor, neededMinor] = isMariaDb(version) ? MARIADB_NEEDED : MYSQL_NEEDED
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return
  throw new UsageError(
    'STORE_REFUSED',
    `this server has version ${version}; punctual needs MariaDB 10.6 or MySQL 8.0, or newer.`,
    { value: version },
  )
}
