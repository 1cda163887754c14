/** A restore as its script wants it: twelve arguments for each message. */
import type { Page, RememberedQuery, RestoredMessage, StoredMessage } from '../../contract/store.ts'
import { decodeCursor, encodeCursor } from '../../../core/encoding/cursor.ts'
import type { ScriptCall } from '../scripts/calls.ts'
import type { QueueKeys } from '../scripts/keys.ts'
import { encodePayload, encodeProducedAt, encodeTags, payloadHead } from './payload.ts'
import { decodeRemembered, encodeRemembered } from './remembered.ts'

export function restoreCall(keys: QueueKeys, messages: readonly RestoredMessage[]): ScriptCall {
  const lines = new Map<string, string>()
  const lineKeys: string[] = []
  const placeOf = (message: RestoredMessage): string => {
    const line = keys.line(message)
    const place = lines.get(line) ?? String(keys.all.length + lineKeys.push(line))
    lines.set(line, place)
    return place
  }
  const args = messages.flatMap((message) => {
    const { id, state, dueAt, firstDueAt, attempt, lapses, until, reason, error, tags } = message
    const isDone = state === 'completed'
    const first = firstDueAt === dueAt ? 0 : firstDueAt
    const numbers = [dueAt, first, attempt, lapses, until].map((value) => String(Math.ceil(value)))
    const line = isDone ? '' : placeOf(message)
    const content = isDone ? rememberedText(message) : encodePayload(headOf(message), message)
    const place = state === 'dead' || isDone ? state : 'waiting'
    return [id, place, line, ...numbers, reason, error, content, isDone ? '' : encodeTags(tags)]
  })
  return { keys: lineKeys, args }
}

function headOf(message: RestoredMessage): string {
  return payloadHead(encodeProducedAt(message.producedAt), message)
}

/** What stands behind the attempts: see `remembered.ts`. */
function rememberedText({ producedAt, priority, topic, outcome, result }: RestoredMessage): string {
  const told = encodeRemembered({ topic, outcome: outcome ?? 'completed', result: result ?? '' })
  return `${encodeProducedAt(producedAt)}${priority}\n${told}`
}

const CURSOR = [/^remembered$/, /^[-+.\w]+$/, /^/]

export function rememberedArgs({ limit, cursor }: RememberedQuery): string[] {
  const [, untilAt = '', id = ''] = cursor === undefined ? [] : decodeCursor(cursor, CURSOR)
  return [String(limit), untilAt, id]
}

export function rememberedReply(reply: readonly unknown[]): Page {
  const [place, pairs] = reply as unknown as [place: readonly string[], pairs: readonly string[]]
  const items: StoredMessage[] = []
  for (let at = 0; at < pairs.length; at += 2) {
    const shown = decodeRemembered(pairs[at] ?? '', pairs[at + 1] ?? '')
    items.push({ ...shown, owner: '', leasedAt: 0, tags: [] })
  }
  const page = { items, scanned: items.length }
  return place.length === 0 ? page : { ...page, cursor: encodeCursor(['remembered', ...place]) }
}
