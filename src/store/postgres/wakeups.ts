/**
 * Wake-ups of a PostgreSQL store: heard on a session that listens, sent as a notification after the commit. Whatever is rung
 * for also lowers the floors of claims.
 */
import type { Ring } from '../sql/bell.ts'
import type { Floors } from '../sql/floors.ts'
import { SqlWakeups } from '../sql/wakeups.ts'
import { callText } from './calls.ts'
import { PostgresListener, type ListenerOptions } from './link/listener.ts'
import type { PostgresLink } from './link/postgres-link.ts'

export type PostgresWakeupsOptions = Omit<ListenerOptions, 'heardRing' | 'notify'> & {
  readonly schema: string
  readonly floors: Floors
  /** For rings of a store that listens to nothing. */
  readonly writes: PostgresLink
}

export function makeWakeups(options: PostgresWakeupsOptions): SqlWakeups {
  const { channel, schema, writes, floors } = options
  let listener: PostgresListener | undefined
  return new SqlWakeups({
    listen: (heardRing) => {
      listener = new PostgresListener({
        ...options,
        heardRing,
        notify: (name) => writes.call({ text: 'select pg_notify($1, $2)', values: [name, ''] }),
      })
      return listener
    },
    send: ({ at, giver, topics }: Ring) =>
      (listener?.link ?? writes).call({
        text: callText(schema, 'ring_1', 4),
        values: [channel, at ?? null, giver, topics],
      }),
    lower: (ring) => (ring === undefined ? floors.reset() : floors.lower(ring.at, ring.topics)),
  })
}
