/** From the contract's entries to the columns of a call, and from its rows back. */
import { assertNever } from '../../core/errors.ts'
import { followUpsOf } from '../contract/sizes.ts'
import type * as contract from '../contract/store.ts'
import { isOwnWord, nextAt } from '../shared/moments.ts'
import { withKeyed } from '../sql/claiming.ts'
import { delayOf, momentOf, toMicros, toMs } from '../sql/micros.ts'
import { toLease, type LeaseRow } from '../sql/rows.ts'
import { tokenColumn } from '../sql/tokens.ts'

export type RingReply = {
  readonly ring: readonly string[] | null
  readonly ring_at: number | null
  readonly giver?: string | null
}
export type Answered<Word> = RingReply & { readonly answers: readonly Word[] }

/** The columns of `put_1` between the clock and `is_joined`. */
export function putColumns(messages: readonly contract.NewMessage[]): readonly unknown[] {
  const isPlain =
    messages.every(({ ifExists }) => ifExists === 'keep') &&
    new Set(messages.map(({ id }) => id)).size === messages.length
  const oldBodies = isPlain ? [] : messages.map(({ ifBody }) => ifBody ?? null)
  return [...messageColumns(messages), oldBodies, isPlain]
}

const MODES = { keep: 0, replace: 1, seize: 2 } as const

/** No tag has a line feed in it. */
function tagList({ tags = [] }: contract.NewMessage): string | null {
  return tags.length === 0 ? null : tags.join('\n')
}

function latestColumn({ latestMs }: contract.NewMessage): string | null {
  return latestMs === undefined ? null : toMicros(latestMs)
}

function tagLists(messages: readonly contract.NewMessage[]): (string | null)[] {
  return messages.some(({ tags }) => tags !== undefined) ? messages.map(tagList) : []
}

function messageColumns(messages: readonly contract.NewMessage[]): readonly unknown[] {
  return [
    messages.map(({ id }) => id),
    messages.map(({ topic }) => topic),
    messages.map(({ priority }) => priority),
    messages.map(({ when }) => delayOf(when)),
    messages.map(({ when }) => momentOf(when)),
    messages.map(({ meta }) => meta),
    messages.map(({ body }) => body),
    tagLists(messages),
    messages.some(({ latestMs }) => latestMs !== undefined) ? messages.map(latestColumn) : [],
    messages.map(({ ifExists }) => MODES[ifExists]),
  ]
}

/** The last column of calls that store messages: none has a key, mostly. */
export function keyColumn(messages: readonly { readonly key?: string }[]): readonly (string | null)[] {
  return messages.some(({ key }) => key !== undefined) ? messages.map(({ key }) => key ?? null) : []
}

export function moveColumns(moves: readonly contract.Move[]): readonly unknown[] {
  return [
    moves.map(({ id }) => id),
    moves.map(({ when }) => delayOf(when)),
    moves.map(({ when }) => momentOf(when)),
  ]
}

export function figureColumns(figures: readonly contract.TopicFigures[]): readonly unknown[] {
  const column = (name: 'topic' | 'completed' | 'failed' | 'dead' | 'skipped'): unknown[] =>
    figures.map((one) => one[name])
  return [
    ...(['topic', 'completed', 'failed', 'dead', 'skipped'] as const).map(column),
    figures.map(({ lateness }) => JSON.stringify(Object.fromEntries(lateness))),
  ]
}

/** Which function settles these, and its columns after the clock. `isMarked`: some have a successor, or are to be cancelled. */
export function settleCall(
  settlements: readonly contract.Settlement[],
  isMarked: boolean,
): {
  readonly name: string
  readonly columns: readonly unknown[]
} {
  const columns = settleColumns(settlements)
  const carried = settlements.flatMap((one, i) =>
    followUpsOf(one).map((message) => ({ parent: i + 1, message })),
  )
  if (carried.length === 0 && !isMarked) return { name: 'settle_1', columns: [...columns, false] }
  const parents = carried.map(({ parent }) => parent)
  const messages = messageColumns(carried.map(({ message }) => message))
  const ownWords = settlements.map(isOwnWord)
  const keys = keyColumn(carried.map(({ message }) => message))
  return { name: 'settle_with_1', columns: [...columns, parents, ...messages, ownWords, false, null, keys] }
}

function settleColumns(settlements: readonly contract.Settlement[]): readonly unknown[] {
  const isAgain = settlements.some(({ kind }) => kind === 'again')
  const ofAgain = <T>(pick: (one: Again) => T | undefined): (T | null)[] =>
    isAgain ? settlements.map((one) => (one.kind === 'again' ? (pick(one) ?? null) : null)) : []
  return [
    settlements.map(({ id }) => id),
    settlements.map(({ token }) => tokenColumn(token)),
    settlements.map(kindOf),
    settlements.map(delayColumn),
    settlements.map(errorColumn),
    settlements.map(reasonColumn),
    ofAgain(({ when }) => momentOf(when)),
    ofAgain(({ content }) => content?.meta),
    ofAgain(({ content }) => content?.body),
  ]
}

/** As `joined_complete_1` reads it. */
export function completeEntry(ack: Extract<contract.Settlement, { kind: 'ack' }>): object {
  return {
    id: ack.id,
    token: tokenColumn(ack.token),
    kind: kindOf(ack),
    delay: delayColumn(ack),
    error: errorColumn(ack),
    reason: reasonColumn(ack),
    carried: followUpsOf(ack).map(joinedEntry),
  }
}

/** One message as `joined_put_1` reads it. */
export function joinedEntry(message: contract.NewMessage): object {
  const { id, topic, priority, when, meta, body, ifExists } = message
  return {
    id,
    topic,
    priority,
    delay: delayOf(when),
    moment: momentOf(when),
    meta,
    body,
    tags: tagList(message),
    latest: latestColumn(message),
    mode: MODES[ifExists],
    ...(message.key === undefined ? {} : { key: message.key }),
  }
}

type Again = Extract<contract.Settlement, { kind: 'again' }>

function errorColumn(settlement: contract.Settlement): string {
  if (settlement.kind === 'ack') return settlement.remember?.result ?? ''
  return 'error' in settlement ? storable(settlement.error) : ''
}

function reasonColumn(settlement: contract.Settlement): string {
  if (settlement.kind === 'ack') return settlement.remember?.outcome ?? ''
  return 'reason' in settlement ? storable(settlement.reason) : ''
}

function delayColumn(settlement: contract.Settlement): string | null {
  if (settlement.kind === 'ack')
    return settlement.remember === undefined ? null : toMicros(settlement.remember.ms)
  if (settlement.kind === 'retry') return toMicros(settlement.delayMs)
  return settlement.kind === 'again' ? delayOf(settlement.when) : null
}

function kindOf(settlement: contract.Settlement): number {
  switch (settlement.kind) {
    case 'ack':
      return settlement.remember === undefined ? 0 : 7
    case 'retry':
      return settlement.isLapse === true ? 2 : 1
    case 'lapse':
      return 3
    case 'release':
      return 4
    case 'dead':
      return 5
    case 'again':
      return settlement.keepsLapses === true ? 8 : 6
    default:
      return assertNever(settlement)
  }
}

/** PostgreSQL keeps no null character in a text. An error may have one; its sign stands for it. */
function storable(text: string): string {
  return text.replaceAll('\0', '\u2400')
}

/** The last row has no id, and tells the rest. */
export type ClaimRow = LeaseRow & {
  readonly now_at: number
  readonly next_at: number | null
  readonly heads?: readonly (number | null)[] | null
  readonly took?: number
  readonly is_own_lapsed?: boolean
  readonly keyed?: readonly string[] | null
}

export function claimReply(rows: readonly ClaimRow[], token: string, leadMs: number): contract.ClaimReply {
  const end = rows.at(-1) as ClaimRow
  const leases = rows.slice(0, -1).map((row) => toLease(row, token, end.now_at))
  const at = end.next_at === null ? undefined : toMs(end.next_at - end.now_at) - leadMs
  const reply = withKeyed({ leases, next: nextAt(at, 0) }, end.keyed)
  return end.is_own_lapsed === true ? { ...reply, isOwnLapsed: true } : reply
}
