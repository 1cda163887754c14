/** The names of the queues in a database. */
import type { QueueList, QueuesContext } from '../engine.ts'
import { parseMysqlUrl } from './address/url.ts'
import { readTimeouts } from '../shared/url-options.ts'
import { MysqlLink } from './link/mysql-link.ts'
import { REFUSALS } from './link/refusals.ts'
import { sql, textOf, type SqlRow } from './sql/statement.ts'

const NAMES_MAX = 10_000

export async function listQueues(url: string, context: QueuesContext): Promise<QueueList> {
  const { address, server, settings } = parseMysqlUrl(url)
  const link = new MysqlLink({
    ...context,
    ...readTimeouts(settings),
    address,
    server,
    name: 'punctual:queues',
  })
  try {
    const [rows = []] = (await link.call((send) =>
      send([sql`select name from punctual_queue order by name limit ${NAMES_MAX + 1}`]),
    )) as readonly (readonly SqlRow[])[]
    const names = rows.map((row) => textOf(row['name']))
    return { names: names.slice(0, NAMES_MAX), isComplete: rows.length <= NAMES_MAX }
  } catch (error) {
    // Nothing was ever stored there.
    if (REFUSALS.isMissing(error)) return { names: [], isComplete: true }
    throw REFUSALS.toError(error, server)
  } finally {
    link.close()
  }
}
