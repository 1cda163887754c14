/** The engines that every command is tried on. */
import { execFileSync } from 'node:child_process'
import { freshDatabase, isMysqlThere } from '../store/mysql/server.ts'
import { PostgresServer, VERSIONS } from '../store/postgres/server.ts'
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
  let server: Promise<PostgresServer> | undefined
  return {
    name: 'postgres',
    isMissing: VERSIONS.length === 0,
    store: async () => {
      server ??= PostgresServer.start()
      return (await server).url
    },
    stop: async () => (await server)?.stop(),
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
