/** The engines that several processes can share, each on a store of its own that ends with the test. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { OnEnd } from '../cli/punctual.ts'
import { freshDatabase, isMysqlThere } from '../store/mysql/server.ts'
import { PostgresDatabase } from '../store/postgres/server.ts'
import { RedisServer } from '../store/redis/server.ts'

export type SharedEngine = {
  readonly name: 'redis' | 'postgres' | 'mysql' | 'file'
  /** `onEnd`: for tests that run side by side. */
  readonly open: (onEnd?: OnEnd) => Promise<string>
}

/** What a busy machine delays is no failure here. */
function patient(url: string): string {
  return `${url}?connectTimeout=60s&callTimeout=60s`
}

export const SHARED_ENGINES: readonly SharedEngine[] = [
  {
    name: 'redis',
    open: async (onEnd = onTestFinished) => {
      const server = await RedisServer.start()
      onEnd(() => server.stop())
      return patient(server.url)
    },
  },
  {
    name: 'postgres',
    open: async () => patient((await PostgresDatabase.make()).url),
  },
  ...(isMysqlThere ? [{ name: 'mysql', open: async () => patient(await freshDatabase()) } as const] : []),
  {
    name: 'file',
    open: async (onEnd = onTestFinished) => {
      const directory = await mkdtemp(join(tmpdir(), 'punctual-shared-'))
      onEnd(() => rm(directory, { recursive: true, force: true }))
      return `file:${directory}`
    },
  },
]
