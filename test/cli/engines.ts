/** The engines that every command is tried on. */
import { execFileSync } from 'node:child_process'
import { freshDatabase, isMysqlThere } from '../store/mysql/server.ts'
import { PostgresDatabase, VERSIONS } from '../store/postgres/server.ts'
import { RedisServer } from '../store/redis/server.ts'

export type Engine = {
  readonly name: 'file' | 'redis' | 'postgres' | 'mysql'
  readonly isMissing: boolean
  /** Undefined: the default, a directory beside the test. */
  readonly store: () => Promise<string | undefined>
  readonly stop: () => Promise<void>
}

export function fileEngine(): Engine {
  return { name: 'file', isMissing: false, store: async () => undefined, stop: async () => undefined }
}

/** A server of its own, where one is installed. */
export function redisEngine(): Engine {
  let server: Promise<RedisServer> | undefined // Shared by all who ask meanwhile.
  return {
    name: 'redis',
    isMissing: !hasRedis(),
    store: async () => {
      server ??= RedisServer.start()
      return (await server).url
    },
    stop: async () => (await server)?.stop(),
  }
}

export function postgresEngine(): Engine {
  let database: Promise<PostgresDatabase> | undefined
  return {
    name: 'postgres',
    isMissing: VERSIONS.length === 0,
    store: async () => {
      database ??= PostgresDatabase.make()
      return (await database).url
    },
    stop: async () => undefined,
  }
}

export function mysqlEngine(): Engine {
  let url: Promise<string> | undefined
  return {
    name: 'mysql',
    isMissing: !isMysqlThere,
    store: () => (url ??= freshDatabase()),
    stop: async () => undefined,
  }
}

function hasRedis(): boolean {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
