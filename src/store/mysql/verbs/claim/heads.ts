/** The first moments of what waits, by topic and priority: one look into the index for each. */
import { joined, numberOrNull, sql, type SqlRow, type Statement } from '../../sql/statement.ts'

export type HeadsOf = {
  readonly queue: number
  /** Default: 0. Of several the first of each. */
  readonly states?: readonly number[]
  readonly topics: readonly string[]
  /** The first one at or after this moment. */
  readonly from?: number
  /** More columns, the same in each row. */
  readonly also?: Statement
}

export type TopicHead = {
  readonly topic: number
  readonly rank: number
  readonly at: number
  /** Of those of that very moment, what has this number or a lower one is taken. */
  readonly after?: number
  /** Others have locked all that is due of it: it is worth asking again at this moment. */
  readonly askAt?: number
}

export function lookAtHeads({ queue, states = [0], topics, from, also = sql`` }: HeadsOf): Statement {
  const names = topics.map((topic, i) => sql`select ${i} as i, cast(${topic} as binary) as topic`)
  if (names.length === 0) return sql`select null as i, null as p, null as due_at${also}`
  const since = from === undefined ? sql`` : sql` and m.due_at >= ${from}`
  const firsts = states.map(
    (state) => sql`(
      select m.due_at from punctual_message m force index (punctual_message_due)
        where m.queue = ${queue} and m.state = ${state} and m.topic = w.topic and m.priority = r.p${since}
        order by m.due_at limit 1)`,
  )
  const first = firsts.length === 1 ? joined(firsts, '') : leastOf(firsts)
  return sql`select w.i, r.p, ${first} as due_at${also}
    from (${joined(names, ' union all ')}) w
      cross join (select 0 as p union all select 1 union all select 2) r`
}

/** Of moments that may not be there. */
function leastOf(moments: readonly Statement[]): Statement {
  const there = moments.map((moment) => sql`coalesce(${moment}, 9223372036854775807)`)
  return sql`nullif(least(${joined(there, ', ')}), 9223372036854775807)`
}

/**
 * The first one at or after each of these. Index entries of messages that were just taken stay for a while, so that a look
 * from the start would step over all of them.
 */
export function lookFrom(queue: number, topics: readonly string[], heads: readonly TopicHead[]): Statement {
  if (heads.length === 0) return lookAtHeads({ queue, topics: [] })
  const looks = heads.map(
    (head) => sql`select ${head.topic} as i, ${head.rank} as p, (
      select m.due_at from punctual_message m force index (punctual_message_due)
        where m.queue = ${queue} and m.state = 0 and m.topic = ${topics[head.topic] ?? ''}
          and m.priority = ${head.rank} and ${notBefore(head)} order by m.due_at, m.seq limit 1) as due_at`,
  )
  return joined(looks, ' union all ')
}

/** A condition on a row m. */
export function notBefore({ at, after }: TopicHead): Statement {
  return after === undefined
    ? sql`m.due_at >= ${at}`
    : sql`m.due_at >= ${at} and (m.due_at > ${at} or m.seq > ${after})`
}

/** By priority. */
export function toHeads(rows: readonly SqlRow[]): TopicHead[] {
  return rows
    .flatMap((row): TopicHead[] => {
      const at = numberOrNull(row['due_at'])
      return at === null ? [] : [{ topic: Number(row['i']), rank: Number(row['p']), at }]
    })
    .toSorted(byPriority)
}

/** Then in the order of topics. */
export function byPriority(
  a: Pick<TopicHead, 'rank' | 'topic'>,
  b: Pick<TopicHead, 'rank' | 'topic'>,
): number {
  return a.rank - b.rank || a.topic - b.topic
}
