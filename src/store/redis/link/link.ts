/** The link to a Redis: commands are lists of words. How it connects, waits and fails: `store/link`. */
import { StoreLink, type LinkFailures, type StoreLinkOptions } from '../../link/link.ts'
import type { Connection } from './connection.ts'
import { DEMOTED, refusalWord, toOpeningError, toPunctualError } from './refusals.ts'

export { CALLS_MAX } from '../../link/link.ts'

type RedisCommand = readonly string[]

export type LinkOptions = Omit<StoreLinkOptions<RedisCommand, Connection>, 'failures'>

const FAILURES: LinkFailures = {
  toError: toPunctualError,
  toOpeningError,
  isForEngine: (error) => refusalWord(error) === 'NOSCRIPT',
  // No word: the connection broke. Demoted: after a failover the same address may lead to the new primary, and this
  // connection leads to the old one.
  endsConnection: (error) => refusalWord(error) === '' || DEMOTED.has(refusalWord(error)),
}

export class Link extends StoreLink<RedisCommand, Connection> {
  constructor(options: LinkOptions) {
    super({ ...options, failures: FAILURES })
  }

  /** Goes out back to back on one connection: all of it is handed over in this very turn. */
  callTogether(commands: readonly RedisCommand[], timeoutMs: number): Promise<unknown>[] {
    return commands.map((command) => this.call(command, timeoutMs))
  }
}
