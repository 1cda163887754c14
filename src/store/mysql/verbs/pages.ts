/**
 * Lists, page by page (P10): a page looks at no more than 2,000 messages and topics, and returns no more than 16 MiB of
 * bodies. First it walks over keys, in the order of an index, where filters are answered by the server; then it reads the
 * messages that it picked. A cursor is the place of the last key that it looked at.
 */
import { decodeCursor, encodeCursor } from '../../../core/encoding/cursor.ts'
import { assertNever } from '../../../core/errors.ts'
import type * as contract from '../../contract/store.ts'
import { toStored, type SeenRow } from '../../sql/rows.ts'
import { clockReading, nowOf, readClock, selectClock } from '../sql/clock.ts'
import { numberOrNull, sql, textOf, textOrNull, type SqlRow, type Statement } from '../sql/statement.ts'
import type { Steps, Transactions } from '../transactions.ts'
import { lookAtHeads, toHeads } from './heads.ts'
import { successorOf, tagsOf } from './locked-row.ts'
import { topicNames } from './topics.ts'
import type { QueuePlace } from './writing.ts'

const SCANNED_MAX = 2_000
const BYTES_MAX = 16 * 1024 * 1024
const NAMES = 100
const LINES = 8

const NUMBER = /^-?\d{1,19}$/
const ANY = /^/
const PLACES: Readonly<Record<string, readonly RegExp[]>> = {
  waiting: [/^waiting$/, NUMBER, ANY, /^[0-3]$/, NUMBER, NUMBER],
  dead: [/^dead$/, NUMBER, ANY, /^[0-3]$/, NUMBER, NUMBER],
  running: [/^running$/, NUMBER, NUMBER],
  ids: [/^ids$/, ANY],
}
const REMEMBERED_CURSOR = [/^remembered$/, NUMBER, NUMBER]
const STATES = { delayed: 0, ready: 0, running: 1, dead: 2 } as const

type PageQuery = contract.ListQuery | contract.TagQuery

/** Messages by id, in the order of the ids. A remembered id is shown while it is. */
export async function readIds(
  calls: Transactions,
  { queue, at }: QueuePlace,
  ids: readonly string[],
): Promise<contract.Page> {
  if (ids.length === 0) return { items: [], scanned: 0 }
  const [, clock, rows = []] = await calls.flight(
    ...readClock(at),
    sql`select ${SEEN} from punctual_message force index (punctual_message_id) where queue = ${queue} and id in (${ids})`,
  )
  const now = nowOf(clock)
  const found = new Map(rows.map((row) => [textOf(row['id']), row]))
  const items = ids.flatMap((id) => {
    const row = found.get(id)
    const seen = row === undefined ? undefined : toSeen(row)
    return seen === undefined || (seen.state === 3 && (seen.until ?? 0) <= now) ? [] : [toStored(seen, now)]
  })
  return { items, scanned: ids.length }
}

/** What is remembered of messages that are done, in the order in which it is forgotten. */
export async function readRemembered(
  calls: Transactions,
  { queue, at }: QueuePlace,
  { limit, cursor }: contract.RememberedQuery,
): Promise<contract.Page> {
  const [, until = '', seq = ''] =
    cursor === undefined ? ['', '-1', '-1'] : decodeCursor(cursor, REMEMBERED_CURSOR)
  const [clock, rows = []] = await calls.flight(
    selectClock(at),
    sql`select ${SEEN} from punctual_message force index (punctual_message_until) where queue = ${queue} and state = 3
      and until >= ${Number(until)} and (until > ${Number(until)} or seq > ${Number(seq)}) and until > ${clockReading(at)}
      order by until, seq limit ${limit}`,
  )
  const items = rows.map((row) => toStored(toSeen(row), nowOf(clock)))
  const page = { items, scanned: rows.length }
  const last = rows.length < limit ? undefined : rows.at(-1)
  if (last === undefined) return page
  return { ...page, cursor: encodeCursor(['remembered', String(last['until']), String(last['seq'])]) }
}

export function readPage(
  calls: Transactions,
  { queue, at }: QueuePlace,
  query: PageQuery,
): Promise<contract.Page> {
  const kind = kindOf(query)
  const place =
    query.cursor === undefined ? undefined : decodeCursor(query.cursor, PLACES[kind] ?? []).slice(1)
  return calls.look(async (steps) => {
    const [, clock] = await steps.send(...readClock(at))
    const now = nowOf(clock)
    const walk = new KeyWalk(steps, queue, query, now)
    if (kind === 'ids') await walk.byIds(place)
    else if (kind === 'running') await walk.running(place)
    else await walk.byTopic(kind === 'dead' ? 2 : 0, place)
    const [rows = []] = await steps.commit(
      sql`select ${SEEN} from punctual_message force index (primary) where seq in (${walk.picked})`,
    )
    const found = new Map(rows.map((row) => [Number(row['seq']), row]))
    const items = walk.picked.flatMap((seq) => {
      const row = found.get(seq)
      return row === undefined ? [] : [toStored(toSeen(row), now)]
    })
    const page = { items, scanned: walk.scanned }
    return walk.next === undefined ? page : { ...page, cursor: encodeCursor([kind, ...walk.next]) }
  })
}

function kindOf({ tag, idPrefix = '', state }: PageQuery): 'ids' | 'running' | 'dead' | 'waiting' {
  if (tag !== undefined || idPrefix !== '' || state === undefined) return 'ids'
  switch (state) {
    case 'delayed':
    case 'ready':
      return 'waiting'
    case 'running':
    case 'dead':
      return state
    default:
      return assertNever(state)
  }
}

/** One walk over keys, until the page is full. */
class KeyWalk {
  readonly picked: number[] = []
  scanned = 0
  /** Where the next page begins, if there may be more. */
  next: readonly string[] | undefined
  readonly #steps: Steps
  readonly #queue: number
  readonly #query: PageQuery
  readonly #from: number | undefined
  readonly #until: number | undefined
  readonly #filter: Statement
  #bytes = 0

  constructor(steps: Steps, queue: number, query: PageQuery, now: number) {
    this.#steps = steps
    this.#queue = queue
    this.#query = query
    const { state } = query
    const [from, until] = [micros(query.dueFrom), micros(query.dueUntil)]
    this.#from = state === 'delayed' ? Math.max(now + 1, from ?? now + 1) : from
    this.#until = state === 'ready' ? Math.min(now + 1, until ?? now + 1) : until
    this.#filter = this.#filterOf(now)
  }

  /** By topic, priority, moment and seq. Of the dead only those that died before the walk began, so that it ends. */
  async byTopic(state: 0 | 2, place: readonly string[] | undefined): Promise<void> {
    const [lastSeq = '', name = '', ...within] = place ?? [await this.#lastSeq(), this.#query.topic ?? '']
    let after = name
    for (;;) {
      const topics = await this.#names(after, name)
      const [found = []] = await this.#steps.send(
        lookAtHeads({
          queue: this.#queue,
          state,
          topics,
          ...(this.#from === undefined ? {} : { from: this.#from }),
        }),
      )
      const lines = toHeads(found)
        .filter(({ at }) => this.#until === undefined || at < this.#until)
        .toSorted((a, b) => a.topic - b.topic || a.rank - b.rank)
        .flatMap(({ topic, rank }) => linesOf({ topic: topics[topic] ?? '', rank }, name, within))
      if (await this.#walkLines(lines, state, Number(lastSeq))) return
      this.scanned += topics.length
      const last = topics.at(-1)
      if (last === undefined || this.#query.topic !== undefined || topics.length < NAMES) return
      if (this.scanned >= SCANNED_MAX) {
        this.next = [lastSeq, last, '3', '0', '0']
        return
      }
      after = last
    }
  }

  /** In the order in which leases end. */
  async running([until = '-1', seq = '-1']: readonly string[] = []): Promise<void> {
    const [keys = []] = await this.#steps.send(
      sql`select seq, until, ${this.#filter} as fits, octet_length(body) as size
        from punctual_message force index (punctual_message_until)
        where queue = ${this.#queue} and state = 1 and until >= ${Number(until)}
          and (until > ${Number(until)} or seq > ${Number(seq)}) order by until, seq limit ${SCANNED_MAX}`,
    )
    this.#pick(keys, (row) => [String(row['until']), String(row['seq'])])
  }

  async byIds([after = '']: readonly string[] = []): Promise<void> {
    const { tag, idPrefix = '' } = this.#query
    const prefix =
      idPrefix === '' ? sql`` : sql` and id >= ${idPrefix} and id < concat(cast(${idPrefix} as binary), 0xff)`
    const tagged =
      tag === undefined
        ? undefined
        : sql`select id from punctual_tag where queue = ${this.#queue} and tag = ${tag} and id > ${after}${prefix}
            order by id limit ${SCANNED_MAX}`
    const ids =
      tagged === undefined
        ? undefined
        : ((await this.#steps.send(tagged))[0] ?? []).map((row) => textOf(row['id']))
    const which = ids === undefined ? sql`id > ${after}${prefix}` : sql`id in (${ids})`
    const [keys = []] = await this.#steps.send(
      sql`select seq, id, ${this.#filter} as fits, octet_length(body) as size
        from punctual_message force index (punctual_message_id)
        where queue = ${this.#queue} and ${which} order by id limit ${SCANNED_MAX}`,
    )
    this.#pick(keys, (row) => [textOf(row['id'])])
    const last = ids?.at(-1)
    // Tags whose messages are gone were looked at too.
    if (this.next === undefined && last !== undefined && ids?.length === SCANNED_MAX) this.next = [last]
  }

  /** True: the page is full. */
  async #walkLines(lines: readonly KeyLine[], state: 0 | 2, lastSeq: number): Promise<boolean> {
    for (let i = 0; i < lines.length; i += LINES) {
      const some = lines.slice(i, i + LINES)
      const size = this.#isFiltered ? SCANNED_MAX - this.scanned : this.#query.limit - this.picked.length
      const replies = await this.#steps.send(...some.map((line) => this.#line(line, state, lastSeq, size)))
      for (const [n, { topic, rank }] of some.entries())
        if (
          this.#pick(replies[n] ?? [], (row) => [
            String(lastSeq),
            topic,
            String(rank),
            String(row['due_at']),
            String(row['seq']),
          ])
        )
          return true
    }
    return false
  }

  #line({ topic, rank, after }: KeyLine, state: 0 | 2, lastSeq: number, size: number): Statement {
    const from = this.#from === undefined ? sql`` : sql` and due_at >= ${this.#from}`
    const until = this.#until === undefined ? sql`` : sql` and due_at < ${this.#until}`
    const died = state === 2 ? sql` and seq <= ${lastSeq}` : sql``
    return sql`select seq, due_at, ${this.#filter} as fits, octet_length(body) as size
      from punctual_message force index (punctual_message_due)
      where queue = ${this.#queue} and state = ${state} and topic = ${topic} and priority = ${rank}${after}${from}${until}${died}
      order by due_at, seq limit ${size}`
  }

  /** Takes what fits; true: the page is full, and `next` says where it ended. */
  #pick(keys: readonly SqlRow[], placeOf: (row: SqlRow) => readonly string[]): boolean {
    for (const row of keys) {
      this.scanned += 1
      if (Number(row['fits']) === 1) {
        this.picked.push(Number(row['seq']))
        this.#bytes += Number(row['size'])
      }
      if (
        this.picked.length >= this.#query.limit ||
        this.scanned >= SCANNED_MAX ||
        this.#bytes >= BYTES_MAX
      ) {
        this.next = placeOf(row)
        return true
      }
    }
    return false
  }

  async #names(after: string, first: string): Promise<readonly string[]> {
    const { topic } = this.#query
    if (topic !== undefined) return [topic]
    const [rows = []] = await this.#steps.send(topicNames(this.#queue, after, NAMES))
    const names = rows.map((row) => textOf(row['topic']))
    return after === first && first !== '' ? [first, ...names] : names
  }

  async #lastSeq(): Promise<string> {
    const [rows = []] = await this.#steps.send(sql`select coalesce(max(seq), 0) as seq from punctual_message`)
    return String(rows[0]?.['seq'])
  }

  get #isFiltered(): boolean {
    const { text, olderThanMs } = this.#query
    return text !== undefined || olderThanMs !== undefined
  }

  #filterOf(now: number): Statement {
    const { state, topic, olderThanMs, text, tag, idPrefix = '' } = this.#query
    const isById = tag !== undefined || idPrefix !== ''
    const parts = [
      topic === undefined ? sql`topic > 0x02` : sql`topic = ${topic}`,
      ...(isById && state !== undefined ? [sql`state = ${STATES[state]}`] : []),
      ...(isById && state === undefined ? [sql`state < 3`] : []),
      ...(this.#from === undefined ? [] : [sql`due_at >= ${this.#from}`]),
      ...(this.#until === undefined ? [] : [sql`due_at < ${this.#until}`]),
      ...(olderThanMs === undefined
        ? []
        : [sql`if(state = 2, until, produced_at) <= ${now - Math.round(olderThanMs * 1000)}`]),
      // Bytes, as they are: no pattern, and no language.
      ...(text === undefined ? [] : [sql`instr(cast(body as binary), cast(${text} as binary)) > 0`]),
    ]
    return parts.reduce((all, part) => sql`${all} and ${part}`)
  }
}

type KeyLine = { readonly topic: string; readonly rank: number; readonly after: Statement }

/** What is left of one topic and priority after a place: of equal moments by seq, then what is due later. */
function linesOf(
  { topic, rank }: { readonly topic: string; readonly rank: number },
  first: string,
  [atRank, at = '', seq = '']: readonly string[],
): KeyLine[] {
  if (atRank === undefined || topic !== first || rank > Number(atRank)) return [{ topic, rank, after: sql`` }]
  if (rank < Number(atRank)) return []
  return [
    { topic, rank, after: sql` and due_at = ${Number(at)} and seq > ${Number(seq)}` },
    { topic, rank, after: sql` and due_at > ${Number(at)}` },
  ]
}

const SEEN = sql`seq, id, topic, priority, state, due_at, first_due_at, produced_at, attempt, lapses, meta, body, error, reason,
  until, owner, leased_at, tags, is_cancelling, successor`

function toSeen(row: SqlRow): SeenRow {
  return {
    id: textOf(row['id']),
    topic: textOf(row['topic']),
    priority: Number(row['priority']),
    state: Number(row['state']),
    due_at: Number(row['due_at']),
    first_due_at: numberOrNull(row['first_due_at']),
    produced_at: Number(row['produced_at']),
    attempt: Number(row['attempt']),
    lapses: Number(row['lapses']),
    meta: textOf(row['meta'] ?? ''),
    body: textOf(row['body'] ?? ''),
    error: textOrNull(row['error']),
    reason: textOrNull(row['reason']),
    until: numberOrNull(row['until']),
    owner: textOrNull(row['owner']),
    leased_at: numberOrNull(row['leased_at']),
    tags: tagsOf(textOrNull(row['tags'])),
    is_cancelling: Number(row['is_cancelling']) === 1,
    successor: successorOf(textOrNull(row['successor'])),
  }
}

function micros(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms * 1000)
}
