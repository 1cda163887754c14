/**
 * The line of a topic and priority: which keys stand in it, with what each is allowed, and the first messages of each. Read
 * without locks: only claims write turns, and these have the lock of the topic.
 *
 * A key's messages are looked for from the moment of its first on. Entries of those that were taken before stay in the index
 * until the server purges them, and a look from the start would step over all of them.
 */
import { Meter } from '../../../../core/controls.ts'
import { isSerial, termsOf } from '../../../../core/keys.ts'
import type { TopicKeyRules } from '../../../sql/gating.ts'
import { toMs } from '../../../sql/micros.ts'
import { joined, numberOrNull, sql, textOf, type SqlRow, type Statement } from '../../sql/statement.ts'
import type { Rows, Steps } from '../../transactions.ts'
import { KEY_HOLDS, KEY_RUNS, KEY_WAITS } from './changes.ts'
import { lapsOf, quotaOf, type WaitingPlace, type KeyInLine, type LineKey } from './round.ts'
import { KEY_LIMIT, toKeyLimit } from './rules.ts'

/** So many that others have locked are looked past. */
const SKIPPED_MAX = 2_000

export type LineOf = { readonly queue: number; readonly topic: string; readonly priority: number }
export type TurnInLine = LineKey & { readonly dueAt: number }

/** Those whose turn comes by then, in order. */
export function selectLine({ queue, topic, priority }: LineOf, until: number, room: number): Statement {
  return sql`select r.its_key, r.served_at, r.used, r.due_at, r.seq, r.next_at, f.served_at as used_until,
      k.its_key is not null as has_own, ${KEY_LIMIT}
    from punctual_turn as r force index (punctual_turn_line)
      left join punctual_turn as f force index (primary)
        on f.queue = ${queue} and f.topic = ${topic} and f.its_key = r.its_key and f.priority = 3
      left join punctual_key_limit as k on k.queue = ${queue} and k.topic = ${topic} and k.its_key = r.its_key
    where r.queue = ${queue} and r.topic = ${topic} and r.priority = ${priority} and r.next_at <= ${until}
    order by r.next_at, r.seq limit ${room}`
}

export function toLine(rows: Rows, { perKey, hasOwn }: TopicKeyRules, now: number): TurnInLine[] {
  return rows.map((row) => {
    const isOwn = hasOwn && Number(row['has_own']) === 1
    const terms = termsOf(perKey, isOwn ? toKeyLimit(row) : undefined)
    const usedUntil = toMs(numberOrNull(row['used_until']) ?? 0)
    return {
      key: textOf(row['its_key']),
      servedAt: Number(row['served_at']),
      used: Number(row['used']),
      dueAt: Number(row['due_at']),
      nextAt: Number(row['next_at']),
      tie: Number(row['seq']),
      terms,
      meter: terms.rate === undefined ? undefined : new Meter(terms.rate, usedUntil, toMs(now)),
    }
  })
}

export type LineLook = LineOf & {
  readonly line: readonly TurnInLine[]
  readonly room: number
  readonly isSkipping: boolean
  /** What is due by then of messages without a key, from that moment on; undefined: none is. */
  readonly until: number
  readonly plainFrom: number | undefined
}

export type SeenLine = { readonly members: readonly KeyInLine[]; readonly plain: readonly WaitingPlace[] }

/** One round trip: what runs and what holds of keys that are limited, and the first messages. */
export async function readLine(
  steps: Steps,
  before: readonly Statement[],
  look: LineLook,
): Promise<SeenLine> {
  const { queue, topic, priority, line } = look
  const limited = line.filter(({ terms }) => terms.concurrency !== undefined).map(({ key }) => key)
  const ofKeys = (keys: readonly string[], state: number): Statement =>
    sql`k.queue = ${queue} and k.topic = ${topic} and k.its_key in (${keys}) and k.state = ${state}`
  const replies = await steps.send(
    ...before,
    // What this claim took in rounds before is leased at its end. What left does not count, whatever became of its place.
    sql`select k.its_key, count(*) as n from punctual_keyed as k force index (punctual_keyed_line)
      straight_join punctual_message as m force index (primary) on m.seq = k.seq and m.state in (1, 4)
      where ${ofKeys(limited, KEY_RUNS)} group by k.its_key`,
    sql`select k.its_key, k.priority, k.due_at, k.seq from punctual_keyed as k force index (punctual_keyed_line)
      where ${ofKeys(
        line.map(({ key }) => key),
        KEY_HOLDS,
      )}`,
    selectFirsts(look),
    selectPlain(look),
  )
  const [running = [], holding = [], firsts = [], plain = []] = replies.slice(before.length)
  const counts = new Map(running.map((row) => [textOf(row['its_key']), Number(row['n'])]))
  const holders = grouped(holding, (row) => textOf(row['its_key']))
  const waiting = grouped(firsts, (row) => Number(row['i']))
  return {
    members: line.map((one, i): KeyInLine => {
      const held = (holders.get(one.key) ?? []).toSorted(byMoment)
      const own = held.filter((row) => Number(row['priority']) === priority)
      const [holder] = isSerial(one.terms) ? held : []
      return {
        ...one,
        running: counts.get(one.key) ?? 0,
        holder:
          holder === undefined
            ? undefined
            : { ...toWaitingPlace(holder), priority: Number(holder['priority']) },
        first: [...(waiting.get(i) ?? []), ...own].toSorted(byMoment).map(toWaitingPlace),
      }
    }),
    plain: plain.map(toWaitingPlace),
  }
}

/** One more of each key than may be handed out, so that we know who comes next. */
function selectFirsts({ queue, topic, priority, line, room, isSkipping }: LineLook): Statement {
  const laps = lapsOf(line, room)
  const looks = line.map((one, i) => {
    const { terms, meter, dueAt, key } = one
    const most = Math.min(quotaOf(one, laps), room, terms.concurrency ?? Infinity, meter?.left ?? Infinity)
    return sql`(select ${i} as i, k.seq, k.due_at from punctual_keyed as k force index (punctual_keyed_line)
      where k.queue = ${queue} and k.topic = ${topic} and k.its_key = ${key} and k.state = ${KEY_WAITS}
        and k.priority = ${priority} and k.due_at >= ${dueAt} order by k.due_at, k.seq
      limit ${most + 1 + (isSkipping ? SKIPPED_MAX : 0)})`
  })
  return looks.length === 0 ? sql`select null as i from dual where false` : joined(looks, ' union all ')
}

function selectPlain({ queue, topic, priority, until, plainFrom, room, isSkipping }: LineLook): Statement {
  if (plainFrom === undefined) return sql`select null as seq from dual where false`
  return sql`select m.seq, m.due_at from punctual_message as m force index (punctual_message_due)
    where m.queue = ${queue} and m.state = 0 and m.topic = ${topic} and m.priority = ${priority}
      and m.due_at >= ${plainFrom} and m.due_at <= ${until}
    order by m.due_at, m.seq limit ${room + (isSkipping ? SKIPPED_MAX : 0)}`
}

function toWaitingPlace(row: SqlRow): WaitingPlace {
  return { seq: Number(row['seq']), dueAt: Number(row['due_at']) }
}

function byMoment(a: SqlRow, b: SqlRow): number {
  return Number(a['due_at']) - Number(b['due_at']) || Number(a['seq']) - Number(b['seq'])
}

function grouped<Name>(rows: Rows, nameOf: (row: SqlRow) => Name): Map<Name, SqlRow[]> {
  const groups = new Map<Name, SqlRow[]>()
  for (const row of rows) {
    const name = nameOf(row)
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [row])
    else group.push(row)
  }
  return groups
}
