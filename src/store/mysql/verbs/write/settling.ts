/**
 * What becomes of messages after their attempts: one after the other, each whole or not at all (P4, P6, P15). Most need none of
 * this, and go the quick way: `acks`.
 */
import { assertNever } from '../../../../core/errors.ts'
import { followUpsOf } from '../../../contract/sizes.ts'
import type { Settlement, SettleResult } from '../../../contract/store.ts'
import { isOwnWord, isStorable } from '../../../shared/moments.ts'
import { nowOf, selectClock, type QueuePlace } from '../../sql/clock.ts'
import { sql, textOf, textOrNull, type Statement } from '../../sql/statement.ts'
import type { Steps } from '../../transactions.ts'
import { DEAD, LAPSES_MAX, REMEMBERED, WAITING, lockRows, type LockedRow } from './locked-row.ts'
import { place, placeSuccessor, type Placing } from './placing.ts'
import { RingNotes } from './ring-notes.ts'
import { readRules, type SettlingRules } from '../keys/rules.ts'
import { RowSet, dueMicros } from './row-set.ts'
import { distinct, writeWith, type WrittenAnswers } from './writing.ts'

/** A row, if the queue has a limit of concurrency: what ends lets another one start. */
export function freeingLook(queue: number): Statement {
  return sql`select 1 from punctual_control where queue = ${queue} and control like '%"concurrency"%' limit 1`
}

export async function settle(
  steps: Steps,
  { queue, at }: QueuePlace,
  settlements: readonly Settlement[],
  isJoined = false,
): Promise<WrittenAnswers<SettleResult>> {
  const rows = new RowSet(queue)
  const notes = new RingNotes()
  const storable = settlements.filter(isStorable)
  const ids = distinct(storable.map(({ id }) => id))
  const carried = distinct(storable.flatMap((one) => followUpsOf(one).map(({ id }) => id)))
  const [clock, frees = [], own, more] = await steps.send(
    selectClock(at),
    freeingLook(queue),
    lockRows(queue, ids, !isJoined),
    ...(carried.length === 0 ? [] : [lockRows(queue, carried, false)]),
  )
  rows.load(own ?? [])
  rows.load(more ?? [])
  const now = nowOf(clock)
  // A user's transaction may last long: it must not keep others from changing limits, and notes what may be needless.
  const rules = isJoined ? undefined : await rulesOf(steps, rows, ids, queue)
  if (rules !== undefined) rows.limitedTopics = rules.limited
  const terms = { rows, now, notes, frees: frees.length > 0, rules }
  const givers = storable.map(({ id, kind }) =>
    kind === 'release' ? (rows.get(id)?.owner ?? '') : kind === 'ack' ? undefined : '',
  )
  const known = new Set(ids.filter((id) => rows.get(id) !== undefined))
  const answers = settlements.map((one): SettleResult | undefined =>
    isStorable(one) ? settleOne(one, terms) : 'refused',
  )
  const unseen = settlements
    .filter(({ id }, i) => answers[i] === undefined && !known.has(id))
    .map(({ id }) => id)
  const look = sql`select id, cast(token as char) as token from punctual_message force index (punctual_message_id)
    where queue = ${queue} and id in (${distinct(unseen)})`
  const names = new Set(givers.filter((name) => name !== undefined))
  const giver = !terms.frees && names.size === 1 && rows.freedTopics.length === 0 ? [...names][0] : ''
  const extra = unseen.length === 0 ? [] : [look]
  const { ring, replies } = await writeWith(steps, rows, notes, { queue, now, giver }, extra)
  const held = new Map((replies[0] ?? []).map((row) => [textOf(row['id']), textOrNull(row['token'])]))
  return {
    answers: answers.map(
      (answer, i) =>
        answer ?? (held.get(settlements[i]?.id ?? '') === settlements[i]?.token ? 'locked' : 'lost'),
    ),
    ring,
  }
}

type SettleTerms = Placing & {
  /** The queue has a limit of concurrency: what ends lets another one start, and no worker knows yet that it waits. */
  readonly frees: boolean
  readonly rules: SettlingRules | undefined
}

/** Undefined: none of these has a key. */
async function rulesOf(
  steps: Steps,
  rows: RowSet,
  ids: readonly string[],
  queue: number,
): Promise<SettlingRules | undefined> {
  const keys = ids.flatMap((id) => {
    const row = rows.get(id)
    return row === undefined || row.its_key === null ? [] : [{ topic: row.topic, key: row.its_key }]
  })
  return keys.length === 0 ? undefined : readRules(steps, queue, keys)
}

/** Undefined: no row is here under that token. */
function settleOne(settlement: Settlement, terms: SettleTerms): SettleResult | undefined {
  const { rows, now, notes, frees } = terms
  const row = rows.get(settlement.id)
  if (row === undefined || row.token === null || row.token !== settlement.token) return undefined
  const { topic, successor } = row
  const isCancelled = row.is_cancelling === 1 && !isOwnWord(settlement)
  if (!isCancelled && successor === null) {
    apply(settlement, row, terms)
    if (frees) notes.noteFreed(topic, row.due_at)
    for (const message of followUpsOf(settlement)) place(message, terms)
    return 'settled'
  }
  rows.remove(row)
  notes.noteFreed(topic, now)
  if (!isCancelled) for (const message of followUpsOf(settlement)) place(message, terms)
  if (successor !== null) placeSuccessor(settlement.id, successor, terms)
  return isCancelled ? 'cancelled' : settlement.kind === 'ack' ? 'settled' : 'succeeded'
}

const NOT_LEASED = {
  leased_at: null,
  token: null,
  owner: null,
  is_taken: null,
  is_cancelling: null,
  is_holding: null,
  successor: null,
} as const

/** What is tried again holds a key of which one may run at a time. */
function holding({ topic, its_key: key }: LockedRow, { rules }: SettleTerms): 1 | null {
  return key !== null && rules?.isSerial(topic, key) === true ? 1 : null
}

function apply(settlement: Settlement, row: LockedRow, terms: SettleTerms): void {
  const { rows, now, notes } = terms
  const back = { ...NOT_LEASED, state: WAITING, until: null, reason: '' }
  const { attempt, lapses } = row
  switch (settlement.kind) {
    case 'ack': {
      const { remember } = settlement
      if (remember === undefined) return rows.remove(row)
      const until = now + Math.round(remember.ms * 1000)
      const gone = { meta: '', body: '', tags: [], error: remember.result, reason: remember.outcome }
      return rows.change(row, { ...NOT_LEASED, ...gone, state: REMEMBERED, until })
    }
    case 'retry': {
      const due = now + Math.round(settlement.delayMs * 1000)
      rows.change(row, {
        ...back,
        due_at: due,
        first_due_at: row.first_due_at ?? row.due_at,
        is_holding: holding(row, terms),
        lapses: settlement.isLapse === true ? Math.min(lapses + 1, LAPSES_MAX) : 0,
        error: settlement.error,
      })
      break
    }
    case 'lapse':
      rows.change(row, {
        ...back,
        is_holding: holding(row, terms),
        lapses: Math.min(lapses + 1, LAPSES_MAX),
        error: settlement.error,
      })
      break
    case 'release':
      rows.change(row, { ...back, attempt: Math.max(attempt, 1) - 1 })
      break
    case 'again': {
      const { meta = null, body = null } = settlement.content ?? {}
      const due = dueMicros(settlement, now)
      const anew = { due_at: due, first_due_at: null, attempt: Math.max(attempt, 1) - 1 }
      const kept = settlement.keepsLapses === true ? lapses : 0
      rows.change(row, { ...back, ...anew, lapses: kept, meta, body })
      break
    }
    case 'dead': {
      const { error, reason } = settlement
      rows.change(row, { ...NOT_LEASED, state: DEAD, until: now, error, reason })
      rows.moveToEnd(row)
      return
    }
    default:
      return assertNever(settlement)
  }
  notes.note(row.topic, row.due_at)
}
