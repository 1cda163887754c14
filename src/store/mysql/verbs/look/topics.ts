/** Which topics there are. Those of our own, which begin with a control character, must be named. */
import { sql, type Statement } from '../../sql/statement.ts'

export const MESSAGE_TOPICS: Statement = sql`topic > 0x02`

/** The names of the next topics after a name, in the order of bytes: of those that have messages, and some that had. */
export function topicNames(queue: number, after: string, size: number): Statement {
  const from = after === '' ? MESSAGE_TOPICS : sql`topic > ${after}`
  return sql`select topic from (
      (select topic from punctual_total where queue = ${queue} and ${from} order by topic limit ${size})
      union
      (select distinct topic from punctual_delta where queue = ${queue} and ${from} order by topic limit ${size})) t
    order by topic limit ${size}`
}
