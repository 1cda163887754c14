/** The engines that every command is tried on: the file engine, and Redis where its server is installed. */
import { execFileSync } from 'node:child_process'
import { RedisServer } from '../store/redis/server.ts'

export type Engine = {
  readonly name: string
  readonly isMissing: boolean
  /** Undefined: the default, a directory beside the test. */
  readonly store: () => Promise<string | undefined>
  readonly stop: () => Promise<void>
}

export function engines(): Engine[] {
  let server: RedisServer | undefined
  return [
    { name: 'file', isMissing: false, store: async () => undefined, stop: async () => undefined },
    {
      name: 'redis',
      isMissing: !hasRedis(),
      store: async () => {
        server ??= await RedisServer.start()
        return server.url
      },
      stop: async () => server?.stop(),
    },
  ]
}

function hasRedis(): boolean {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
