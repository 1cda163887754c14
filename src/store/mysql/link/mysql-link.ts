/** The link to a MySQL or MariaDB: commands are pieces of work. How it connects, waits and fails: `store/link`. */
import { StoreLink, type StoreLinkOptions } from '../../link/link.ts'
import type { MysqlAddress } from '../address/url.ts'
import { MysqlConnection, type MysqlTarget, type SessionWork } from './connection.ts'
import { REFUSALS } from './refusals.ts'

export type MysqlLinkOptions = Omit<
  StoreLinkOptions<SessionWork, MysqlConnection>,
  'failures' | 'connect'
> & {
  readonly address: MysqlAddress
}

export class MysqlLink extends StoreLink<SessionWork, MysqlConnection> {
  constructor({ address, ...options }: MysqlLinkOptions) {
    const target: MysqlTarget = { address, connectTimeoutMs: options.connectTimeoutMs }
    super({
      ...options,
      failures: REFUSALS,
      connect: (_name, lost) => new MysqlConnection(target, lost),
    })
  }
}
