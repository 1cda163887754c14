/** New messages: in one round trip where every id is free, else row by row (`placing`). And those that another store showed. */
import type * as contract from '../../../contract/store.ts'
import { errorNumber } from '../../link/refusals.ts'
import { NOW, nowOf, readClock, selectClock, type QueuePlace } from '../../sql/clock.ts'
import { joined, sql, textOf, type Statement } from '../../sql/statement.ts'
import type { Steps } from '../../transactions.ts'
import { noteMessages, placeKeyed } from '../keys/changes.ts'
import { lockRows, REMEMBERED, WAITING, waitingState } from './locked-row.ts'
import { place } from './placing.ts'
import { knownLook, RingNotes } from './ring-notes.ts'
import { countOf, deltaStatements, dueMicros, insertTags, restoredRowOf, RowSet } from './row-set.ts'
import { distinct, write, type WrittenAnswers } from './writing.ts'

const DUPLICATE = 1062
const QUICK_TOPICS_MAX = 20

export function isPlain(messages: readonly contract.NewMessage[]): boolean {
  return (
    messages.every(({ ifExists }) => ifExists === 'keep') &&
    new Set(messages.map(({ id }) => id)).size === messages.length
  )
}

/** In one round trip, if no id is taken; else undefined, and nothing was done. */
export async function putPlain(
  steps: Steps,
  { queue, at }: QueuePlace,
  messages: readonly contract.NewMessage[],
): Promise<WrittenAnswers<contract.PutResult> | undefined> {
  const topics = byTopic(messages)
  const looks =
    topics.size > QUICK_TOPICS_MAX
      ? []
      : [...topics].map(([topic, first]) => knownLook(queue, topic, NOW, first))
  try {
    const [, now, ...rest] = await steps.commit(
      ...readClock(at),
      ...looks,
      sql`insert into ${newValues(queue, messages, NOW)}`,
      ...newOthers(queue, messages, NOW),
    )
    const notes = new RingNotes()
    for (const message of messages) notes.note(message.topic, dueMicros(message, nowOf(now)))
    return { answers: messages.map(() => 'stored'), ring: notes.ring(rest.slice(0, looks.length)) }
  } catch (error) {
    if (errorNumber(error) === DUPLICATE) return undefined
    throw error
  }
}

/** The rest of an insert of messages that wait. `now`: as the server reads it. One text, as there may be many. */
export function newValues(
  queue: number,
  messages: readonly contract.NewMessage[],
  now: Statement,
): Statement {
  const values: string[] = []
  let rows = ''
  const hasKeys = messages.some(({ key }) => key !== undefined)
  for (const { id, topic, priority, meta, body, when, key, tags = [] } of messages) {
    const due = 'at' in when ? micros(when.at) : `${now.text} + ${micros(when.delayMs)}`
    const list = tags.length === 0 ? 'null' : '?'
    rows += `${rows === '' ? '' : ', '}(${queue}, ${priority}, ${due}, ${now.text}, ?, ?, ?, ?, ${list}`
    values.push(topic, id, meta, body)
    if (tags.length > 0) values.push(tags.join('\n'))
    rows += hasKeys ? `, ${waitingState(key)}, ${key === undefined ? 'null' : '?'})` : ')'
    if (key !== undefined) values.push(key)
  }
  const ofKeys = hasKeys ? ', state, its_key' : ''
  const columns = `queue, priority, due_at, produced_at, topic, id, meta, body, tags${ofKeys}`
  return { text: `punctual_message (${columns}) values ${rows}`, values }
}

/** What belongs to new messages besides their rows. */
export function newOthers(
  queue: number,
  messages: readonly contract.NewMessage[],
  now: Statement,
): Statement[] {
  const tags = messages.flatMap(({ id, tags: list = [] }) =>
    list.map((tag) => sql`(${queue}, ${tag}, ${id})`),
  )
  const counts = new Map<string, { waiting: number; running: number; dead: number }>()
  for (const { topic } of messages) countOf(counts, topic).waiting += 1
  const keyed = messages.filter(({ key }) => key !== undefined)
  const ids = keyed.map(({ id }) => id)
  return [
    ...(tags.length === 0 ? [] : [insertTags(tags)]),
    ...(ids.length === 0 ? [] : [placeKeyed(queue, ids)]),
    ...noteMessages(queue, firstOfEachKey(keyed), now),
    ...deltaStatements(queue, counts),
  ]
}

/** Of each key and priority those that may be its first: only the server knows which comes earlier, a delay or a moment. */
function firstOfEachKey(messages: readonly contract.NewMessage[]): string[] {
  const firsts = new Map<string, { readonly id: string; readonly at: number }>()
  for (const { id, topic, key = '', priority, when } of messages) {
    const [kind, at] = 'at' in when ? ['at', when.at] : ['delay', when.delayMs]
    const name = [topic, key, priority, kind].join('\n')
    if (at < (firsts.get(name)?.at ?? Infinity)) firsts.set(name, { id, at })
  }
  return [...firsts.values()].map(({ id }) => id)
}

function micros(ms: number): number {
  return Math.round(ms * 1000)
}

/** For each topic, its earliest new moment as the server works it out. */
function byTopic(messages: readonly contract.NewMessage[]): Map<string, Statement> {
  const delays = new Map<string, number>()
  const moments = new Map<string, number>()
  for (const { topic, when } of messages) {
    const [kind, value] = 'at' in when ? ([moments, when.at] as const) : ([delays, when.delayMs] as const)
    kind.set(topic, Math.min(kind.get(topic) ?? Infinity, Math.round(value * 1000)))
  }
  return new Map(
    [...new Set(messages.map(({ topic }) => topic))].map((topic) => {
      const [delay, moment] = [delays.get(topic), moments.get(topic)]
      const parts = [
        delay === undefined ? [] : [sql`@punctual_now + ${delay}`],
        moment === undefined ? [] : [sql`${moment}`],
      ].flat()
      return [topic, parts.length === 1 ? (parts[0] as Statement) : sql`least(${joined(parts, ', ')})`]
    }),
  )
}

export async function put(
  steps: Steps,
  { queue, at }: QueuePlace,
  messages: readonly contract.NewMessage[],
): Promise<WrittenAnswers<contract.PutResult>> {
  const rows = new RowSet(queue)
  const notes = new RingNotes()
  const asked = messages.flatMap(({ id, ifBody }) => (ifBody === undefined ? [] : [id]))
  const [clock, found, contents = []] = await steps.send(
    selectClock(at),
    lockRows(queue, distinct(messages.map(({ id }) => id)), false),
    ...(asked.length === 0 ? [] : [selectBodies(queue, asked)]),
  )
  rows.load(found ?? [])
  const now = nowOf(clock)
  const bodies = new Map(contents.map((row) => [textOf(row['id']), textOf(row['body'] ?? '')]))
  const answers = messages.map((message) => place(message, { rows, now, notes, bodies }))
  return { answers, ring: await write(steps, rows, notes, { queue, now }) }
}

function selectBodies(queue: number, ids: readonly string[]): Statement {
  return sql`select id, body from punctual_message force index (punctual_message_id)
    where queue = ${queue} and id in (${distinct(ids)})`
}

/** As another store showed them; see the contract. */
export async function restore(
  steps: Steps,
  { queue, at }: QueuePlace,
  messages: readonly contract.RestoredMessage[],
): Promise<WrittenAnswers<contract.RestoreResult>> {
  const rows = new RowSet(queue)
  const notes = new RingNotes()
  const [clock, found] = await steps.send(
    selectClock(at),
    lockRows(queue, distinct(messages.map(({ id }) => id)), false),
  )
  rows.load(found ?? [])
  const now = nowOf(clock)
  const answers = messages.map((message): contract.RestoreResult => {
    const old = rows.get(message.id)
    if (old !== undefined && (old.state !== REMEMBERED || (old.until ?? 0) > now)) return 'taken'
    if (old !== undefined) rows.remove(old)
    const row = restoredRowOf(message)
    rows.add(row)
    if (row.state === WAITING) notes.note(row.topic, row.due_at)
    return 'restored'
  })
  return { answers, ring: await write(steps, rows, notes, { queue, now }) }
}
