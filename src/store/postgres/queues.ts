/** The names of the queues in a schema. */
import type { QueueList, QueuesContext } from '../engine.ts'
import { parsePostgresUrl } from './address/url.ts'
import { readTimeouts } from '../shared/url-options.ts'
import { PostgresLink } from './link/postgres-link.ts'
import { REFUSALS } from './link/refusals.ts'
import { SCHEMA_DEFAULT } from './open.ts'

const NAMES_MAX = 10_000

export async function listQueues(url: string, context: QueuesContext): Promise<QueueList> {
  const { urls, server, settings } = parsePostgresUrl(url)
  const link = new PostgresLink({
    ...context,
    ...readTimeouts(settings),
    urls,
    server,
    name: 'punctual:queues',
  })
  try {
    const rows = (await link.call({
      text: `select name from "${settings.schema ?? SCHEMA_DEFAULT}".queue order by name limit ${NAMES_MAX + 1}`,
    })) as readonly { name: string }[]
    return { names: rows.slice(0, NAMES_MAX).map(({ name }) => name), isComplete: rows.length <= NAMES_MAX }
  } catch (error) {
    // Nothing was ever stored there.
    if (REFUSALS.isMissing(error)) return { names: [], isComplete: true }
    throw REFUSALS.toError(error, server)
  } finally {
    link.close()
  }
}
