/** The connection for what replicas confirm, where the durability asks for it. */
import type { Connection } from '../link/connection.ts'
import { Link, type LinkOptions } from '../link/link.ts'
import * as scripts from '../scripts/generated.ts'
import type { QueueKeys } from '../scripts/keys.ts'
import { ConfirmedCalls } from './confirmed-calls.ts'
import type { Durability } from './durability.ts'

const WRITES = [
  scripts.PUT_SCRIPT,
  scripts.REMOVE_SCRIPT,
  scripts.RESCHEDULE_SCRIPT,
  scripts.SETTLE_SCRIPT,
  scripts.REVIVE_SCRIPT,
]

export function confirmedWrites(
  options: LinkOptions,
  keys: QueueKeys,
  durability: Durability,
): ConfirmedCalls | undefined {
  if (durability.kind === 'primary') return undefined
  const { server, callTimeoutMs, clock } = options
  const { replicas, timeoutMs } = durability
  const link = new Link({ ...options, prepare: loadWrites })
  return new ConfirmedCalls(link, { keys, server, callTimeoutMs, clock, replicas, timeoutMs })
}

/** A call that first has to bring its script would wait for the replicas twice. */
async function loadWrites(connection: Connection): Promise<void> {
  await Promise.all(WRITES.map(({ source }) => connection.send(['SCRIPT', 'LOAD', source])))
}
