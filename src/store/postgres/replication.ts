/**
 * `durability=replicated`: a write is acknowledged when a synchronous standby has it. PostgreSQL itself waits for that in
 * each commit; here is what it does not say: a server without such a standby would not wait at all, and one whose standby
 * is away waits without end.
 */
import { UnavailableError, UsageError } from '../../core/errors.ts'
import type { PgQuery } from './link/client.ts'

/** Rejects where a commit would not wait for a standby. */
export async function assertStandbys(
  server: string,
  query: (query: PgQuery) => Promise<unknown>,
): Promise<void> {
  const rows = (await query({
    text: "select current_setting('synchronous_standby_names') as names, current_setting('synchronous_commit') as level",
  })) as readonly { readonly names: string; readonly level: string }[]
  const { names = '', level = '' } = rows[0] ?? {}
  if (names !== '' && level !== 'off' && level !== 'local') return
  throw new UsageError(
    'STORE_UNREPLICATED',
    `${server}: durability is replicated, but synchronous_standby_names is ${JSON.stringify(names)} and synchronous_commit is ${level}; configure a synchronous standby, or leave durability out.`,
    { value: names },
  )
}

/** For a call that got no answer in time: the server has it, or will; whether a failover keeps it is unknown. */
export function unreplicated(server: string, timeoutMs: number): UnavailableError {
  return new UnavailableError(
    'STORE_UNREPLICATED',
    `${server}: no standby confirmed the call within ${timeoutMs} ms, and the connection was given up. Whether a failover keeps it is unknown: try again, with the same id, and look at the standby.`,
  )
}
