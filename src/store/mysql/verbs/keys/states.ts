/** How keys of a topic stand: those that are named, or page by page. The cost does not grow with keys, nor with their messages. */
import { decodeCursor, encodeCursor } from '../../../../core/encoding/cursor.ts'
import type { Allowance } from '../../../../core/controls.ts'
import type * as contract from '../../../contract/store.ts'
import { KEY_COUNT_MAX } from '../../../contract/sizes.ts'
import { toKeyState, type KeyRow } from '../../../sql/key-states.ts'
import { toMs } from '../../../sql/micros.ts'
import { nowOf, NOW, readClock, type QueuePlace } from '../../sql/clock.ts'
import {
  joined,
  numberOrNull,
  sql,
  textOf,
  textOrNull,
  type SqlRow,
  type Statement,
} from '../../sql/statement.ts'
import type { Steps, Transactions } from '../../transactions.ts'
import { KEY_HOLDS, KEY_RUNS, KEY_WAITS } from './changes.ts'
import { KEY_LIMIT } from './rules.ts'
import { RATE } from './turns.ts'

const CURSOR = [/^keys$/, /^/]
/** So many are looked at in one statement. */
const CHUNK = 20
const RANKS = [0, 1, 2]

type TopicOfKeys = { readonly queue: number; readonly topic: string }

/** `perKey`: what each key of the topic is allowed. */
export function readKeys(
  calls: Transactions,
  { queue, at }: QueuePlace,
  query: contract.KeysQuery,
  perKey: Allowance | undefined,
): Promise<contract.KeysPage> {
  const { topic } = query
  return calls.look(async (steps) => {
    const [, clock] = await steps.send(...readClock(at))
    const now = nowOf(clock)
    const found = 'keys' in query ? { names: query.keys } : await pageOf(steps, { queue, topic }, query)
    const keys: contract.KeyState[] = []
    for (let from = 0; from < found.names.length; from += CHUNK) {
      const names = found.names.slice(from, from + CHUNK)
      const [rows = []] = await steps.send(
        joined(
          names.map((name) => selectState({ queue, topic }, name)),
          ' union all ',
        ),
      )
      keys.push(...rows.map((row) => toKeyState(toKeyRow(row, now), perKey)))
    }
    await steps.commit()
    const cursor = 'cursor' in found && found.cursor !== undefined ? { cursor: found.cursor } : {}
    return { now: toMs(now), keys, ...cursor }
  })
}

async function pageOf(
  steps: Steps,
  { queue, topic }: TopicOfKeys,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string },
): Promise<{ readonly names: string[]; readonly cursor: string | undefined }> {
  const [, after = ''] = cursor === undefined ? [] : decodeCursor(cursor, CURSOR)
  const replies = await steps.send(...nextNames({ queue, topic }, after, limit + 1))
  const named = replies.flat().flatMap((row) => textOrNull(row['name']) ?? [])
  const end = named.length > limit ? sql` and its_key < ${named.at(-1) ?? ''}` : sql``
  // Of which nothing is left but a rate that is used. Between those of the page there are few others.
  const [rated = []] = await steps.send(
    sql`select its_key as name from punctual_turn force index (primary)
      where queue = ${queue} and topic = ${topic} and its_key > ${after}${end} and priority = ${RATE} and served_at > ${NOW}
      order by its_key limit ${limit + 1}`,
  )
  const all = new Set([...named, ...rated.map((row) => textOf(row['name']))])
  const names = [...all].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  const page = names.slice(0, limit)
  const last = names.length > limit ? page.at(-1) : undefined
  return { names: page, cursor: last === undefined ? undefined : encodeCursor(['keys', last]) }
}

const LAST_NAME = sql`@punctual_key`

/**
 * The next names after one, each by one look into each table: a walk would go over all messages of a key. So each look is a
 * statement, to which the name before is a constant. No key has the byte 0xff.
 */
function nextNames({ queue, topic }: TopicOfKeys, after: string, size: number): Statement[] {
  const first = (from: Statement): Statement =>
    sql`coalesce((select x.its_key from ${from}
      where x.queue = ${queue} and x.topic = ${topic} and x.its_key > ${LAST_NAME} order by x.its_key limit 1), 0xff)`
  const [keyed, limited] = [
    first(sql`punctual_keyed as x force index (punctual_keyed_line)`),
    first(sql`punctual_key_limit as x force index (primary)`),
  ]
  const next = [
    sql`select nullif(least(${keyed}, ${limited}), 0xff) into ${LAST_NAME}`,
    sql`select ${LAST_NAME} as name`,
  ]
  return [
    sql`set ${LAST_NAME} = cast(${after} as binary)`,
    ...Array.from({ length: size }, () => next).flat(),
  ]
}

function selectState({ queue, topic }: TopicOfKeys, key: string): Statement {
  const ofKey = (table: Statement): Statement =>
    sql`${table} where x.queue = ${queue} and x.topic = ${topic} and x.its_key = ${key}`
  const keyed = ofKey(sql`punctual_keyed as x force index (punctual_keyed_line)`)
  const turn = ofKey(sql`punctual_turn as x force index (primary)`)
  const count = (states: readonly number[]): Statement =>
    sql`(select count(*) from (select 1 from ${keyed} and x.state in (${states}) limit ${KEY_COUNT_MAX}) as c)`
  const holder = sql`(select x.seq from ${keyed} and x.state = ${KEY_HOLDS} order by x.due_at, x.seq limit 1)`
  const due = (rank: number, state: number): Statement =>
    sql`(select x.due_at from ${keyed} and x.state = ${state} and x.priority = ${rank} order by x.due_at limit 1)`
  const dues = RANKS.flatMap((rank) => [
    sql`${due(rank, KEY_WAITS)} as waits_${rank}`,
    sql`${due(rank, KEY_HOLDS)} as holds_${rank}`,
    sql`(select x.served_at from ${turn} and x.priority = ${rank}) as served_${rank}`,
  ])
  return sql`select cast(${key} as binary) as its_key, ${count([KEY_WAITS, KEY_HOLDS])} as waiting,
      ${count([KEY_RUNS])} as running, ${joined(dues, ', ')},
      (select x.served_at from ${turn} and x.priority = ${RATE}) as used_until,
      h.id as held_id, h.priority as held_rank, h.due_at as held_at, k.its_key is not null as has_limit, ${KEY_LIMIT}
    from (select 1) as one
      left join punctual_key_limit as k on k.queue = ${queue} and k.topic = ${topic} and k.its_key = ${key}
      left join punctual_message as h on h.seq = ${holder}`
}

function toKeyRow(row: SqlRow, now: number): KeyRow {
  const first = (rank: number): number | null => {
    const dues = [numberOrNull(row[`waits_${rank}`]), numberOrNull(row[`holds_${rank}`])]
    const there = dues.filter((due) => due !== null)
    return there.length === 0 ? null : Math.min(...there)
  }
  return {
    now_at: now,
    key: textOf(row['its_key']),
    waiting: Number(row['waiting']),
    running: Number(row['running']),
    dues: RANKS.map(first),
    served: RANKS.map((rank) => numberOrNull(row[`served_${rank}`])),
    used_until: numberOrNull(row['used_until']),
    held_id: textOrNull(row['held_id']),
    held_rank: numberOrNull(row['held_rank']),
    held_at: numberOrNull(row['held_at']),
    has_limit: Number(row['has_limit']) === 1,
    weight: numberOrNull(row['weight']),
    concurrency: numberOrNull(row['concurrency']),
    interval_ms: numberOrNull(row['interval_ms']),
    burst: numberOrNull(row['burst']),
  }
}
