/**
 * The first half of a page: a walk over keys, in the order of an index, where filters are answered by the server. It looks at no
 * more than 2,000 messages and topics.
 */
import type * as contract from '../../../contract/store.ts'
import { joined, sql, textOf, type SqlRow, type Statement } from '../../sql/statement.ts'
import type { Steps } from '../../transactions.ts'
import { lookAtHeads, toHeads } from '../claim/heads.ts'
import { KEY_HOLDS, KEY_WAITS } from '../keys/changes.ts'
import { WAITING_STATES } from '../write/locked-row.ts'
import { topicNames } from './topics.ts'

const SCANNED_MAX = 2_000
const BYTES_MAX = 16 * 1024 * 1024
const NAMES = 100
const LINES = 8
const STATES = { delayed: WAITING_STATES, ready: WAITING_STATES, running: [1], dead: [2] } as const

export type PageQuery = contract.ListQuery | contract.TagQuery

/** One walk over keys, until the page is full. */
export class KeyWalk {
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
  async byTopic(states: readonly number[], place: readonly string[] | undefined): Promise<void> {
    const [lastSeq = '', name = '', ...within] = place ?? [await this.#lastSeq(), this.#query.topic ?? '']
    let after = name
    for (;;) {
      const topics = await this.#names(after, name)
      const [found = []] = await this.#steps.send(
        lookAtHeads({
          queue: this.#queue,
          states,
          topics,
          ...(this.#from === undefined ? {} : { from: this.#from }),
        }),
      )
      const lines = toHeads(found)
        .filter(({ at }) => this.#until === undefined || at < this.#until)
        .toSorted((a, b) => a.topic - b.topic || a.rank - b.rank)
        .flatMap(({ topic, rank }) => linesOf({ topic: topics[topic] ?? '', rank }, name, within))
      if (await this.#walkLines(lines, states, Number(lastSeq))) return
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
  async #walkLines(lines: readonly KeyLine[], states: readonly number[], lastSeq: number): Promise<boolean> {
    for (let i = 0; i < lines.length; i += LINES) {
      const some = lines.slice(i, i + LINES)
      const size = this.#isFiltered ? SCANNED_MAX - this.scanned : this.#query.limit - this.picked.length
      const replies = await this.#steps.send(...some.map((line) => this.#line(line, states, lastSeq, size)))
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

  #line(line: KeyLine, states: readonly number[], lastSeq: number, size: number): Statement {
    const { key, topic } = this.#query
    const isByKey = key !== undefined && topic !== undefined && states === WAITING_STATES
    const parts = isByKey
      ? [KEY_WAITS, KEY_HOLDS].map((state) => this.#lineOfKey(line, key, state, size))
      : states.map((state) => this.#lineOf(line, state, lastSeq, size))
    if (parts.length === 1) return joined(parts, '')
    const each = parts.map((part) => sql`(${part})`)
    return sql`${joined(each, ' union all ')} order by due_at, seq limit ${size}`
  }

  #lineOf(line: KeyLine, state: number, lastSeq: number, size: number): Statement {
    const died = state === 2 ? sql` and seq <= ${lastSeq}` : sql``
    return sql`select seq, due_at, ${this.#filter} as fits, octet_length(body) as size
      from punctual_message force index (punctual_message_due)
      where queue = ${this.#queue} and state = ${state} and ${this.#within(line)}${died}
      order by due_at, seq limit ${size}`
  }

  #lineOfKey(line: KeyLine, key: string, state: number, size: number): Statement {
    return sql`select seq, due_at, ${this.#filter} as fits, octet_length(body) as size
      from (select seq as place from punctual_keyed force index (punctual_keyed_line)
          where queue = ${this.#queue} and its_key = ${key} and state = ${state} and ${this.#within(line)}
          order by due_at, seq limit ${size}) as k
        straight_join punctual_message force index (primary) on seq = k.place`
  }

  #within({ topic, rank, after }: KeyLine): Statement {
    const from = this.#from === undefined ? sql`` : sql` and due_at >= ${this.#from}`
    const until = this.#until === undefined ? sql`` : sql` and due_at < ${this.#until}`
    return sql`topic = ${topic} and priority = ${rank}${after}${from}${until}`
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
    const { text, key, olderThanMs } = this.#query
    return text !== undefined || key !== undefined || olderThanMs !== undefined
  }

  #filterOf(now: number): Statement {
    const { state, topic, key, olderThanMs, text, tag, idPrefix = '' } = this.#query
    const isById = tag !== undefined || idPrefix !== ''
    const parts = [
      topic === undefined ? sql`topic > 0x02` : sql`topic = ${topic}`,
      ...(isById && state !== undefined ? [sql`state in (${STATES[state]})`] : []),
      ...(isById && state === undefined ? [sql`state <> 3`] : []),
      ...(this.#from === undefined ? [] : [sql`due_at >= ${this.#from}`]),
      ...(this.#until === undefined ? [] : [sql`due_at < ${this.#until}`]),
      ...(key === undefined ? [] : [sql`its_key = ${key}`]),
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

function micros(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms * 1000)
}
