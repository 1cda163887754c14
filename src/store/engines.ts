/**
 * The table of engines: the only file that knows all of them. To add one, import its registration and put it into
 * `ENGINES`; if it has options or takes objects, add their types below. Each engine loads itself when it is used.
 */
import { UsageError, describe, urlWithoutPasswords } from '../core/errors.ts'
import type { Store } from './contract/store.ts'
import type { Engine } from './engine.ts'
import { file } from './file/engine.ts'
import { memory } from './memory/engine.ts'
import { mysql, type MysqlOptions } from './mysql/engine.ts'
import { postgres, type PostgresOptions } from './postgres/engine.ts'
import { redis, type ExistingClient, type RedisOptions } from './redis/engine.ts'

export const ENGINES: readonly Engine[] = [file, redis, postgres, mysql, memory]

/** Where the messages are kept, and the options that single engines add. */
export type EngineOptions = RedisOptions &
  PostgresOptions &
  MysqlOptions & {
    /**
     * A URL (`file:PATH`, `redis://...`, `redis+sentinel://...`, `redis+cluster://...`, `postgres://...`,
     * `mysql://...`, `memory:`), a client of the package `redis`, or a store object, which its maker closes. Default `file:.punctual`.
     */
    store?: string | EngineClient | Store
  }
/** What a user may give instead of a URL. */
export type EngineClient = ExistingClient

export type { MysqlOptions } from './mysql/engine.ts'
export type { PostgresOptions } from './postgres/engine.ts'
export type { DurabilityOption, ExistingClient, RedisOptions } from './redis/engine.ts'

export const DEFAULT_STORE = file.example

/** Throws when no engine has this scheme. */
export function engineForUrl(url: string): Engine {
  const scheme = /^[a-z][a-z0-9+.-]*:/.exec(url)?.[0] ?? ''
  const found = ENGINES.find(({ schemes }) => schemes.includes(scheme))
  if (found !== undefined) return found
  const shown = urlWithoutPasswords(url)
  const known = ENGINES.flatMap(({ schemes }) => schemes)
  throw new UsageError(
    'STORE_URL_INVALID',
    `store is ${describe(shown)}; it begins with one of: ${known.join(', ')}.`,
    { value: shown },
  )
}

/** The engine that takes this object, if any does. */
export function engineForClient(value: object): Engine | undefined {
  return ENGINES.find(({ client }) => client?.accepts(value) === true)
}

/** URLs to show in texts that tell a user what to write: stores that outlive this process. */
export function exampleUrls(): string[] {
  return ENGINES.filter(({ reach }) => reach !== 'process').map(({ example }) => example)
}

/** A URL to show where the store should be on a server. */
export function exampleServerUrl(): string {
  return ENGINES.find(({ reach }) => reach === 'network')?.example ?? DEFAULT_STORE
}
