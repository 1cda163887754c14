/** The connection for what replicas confirm, where the durability asks for it. */
import type { Connection } from '../link/connection.ts'
import { Link, type LinkOptions } from '../link/link.ts'
import * as scripts from '../scripts/generated.ts'
import type { QueueKeys } from '../scripts/keys.ts'
import { ConfirmedCalls, type Fence } from './confirmed-calls.ts'
import type { Durability } from './durability.ts'

const WRITES = [
  scripts.PUT_SCRIPT,
  scripts.REMOVE_SCRIPT,
  scripts.RESCHEDULE_SCRIPT,
  scripts.SETTLE_SCRIPT,
  scripts.REVIVE_SCRIPT,
]

export type ConfirmedWrites = { readonly link: Link; readonly calls: ConfirmedCalls }

/** `fencesMax`: how many partitions share the connection. */
export function confirmedWrites(
  options: LinkOptions,
  durability: Durability,
  fencesMax = 1,
): ConfirmedWrites | undefined {
  if (durability.kind === 'primary') return undefined
  const { server, callTimeoutMs, clock } = options
  const { replicas, timeoutMs } = durability
  const link = new Link({ ...options, prepare: loadWrites })
  return {
    link,
    calls: new ConfirmedCalls(link, { fencesMax, server, callTimeoutMs, clock, replicas, timeoutMs }),
  }
}

/** What a call for this queue touches last. */
export function fenceOf(keys: QueueKeys): Fence {
  return [keys.named('order'), keys.named('payload')]
}

/** A call that first has to bring its script would wait for the replicas twice. */
async function loadWrites(connection: Connection): Promise<void> {
  await Promise.all(WRITES.map(({ source }) => connection.send(['SCRIPT', 'LOAD', source])))
}
