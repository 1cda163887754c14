/** How keys stand, as `inspect_keys.lua` tells it. */
import { decodeCursor, encodeCursor } from '../../../core/encoding/cursor.ts'
import { KEY_COUNT_MAX } from '../../contract/sizes.ts'
import type { KeyLimit, KeysPage, KeysQuery, KeyState } from '../../contract/store.ts'
import { allowanceOf } from './controls.ts'
import { momentOf } from './moments.ts'

const CURSOR = [/^keys$/, /^/]
const ROW_FIELDS = 8

export function keysArgs(query: KeysQuery): string[] {
  if ('keys' in query) return [query.topic, 'named', ...query.keys]
  const [, after = ''] = query.cursor === undefined ? [] : decodeCursor(query.cursor, CURSOR)
  return [query.topic, 'page', after, String(query.limit)]
}

export function keysReply(reply: readonly unknown[]): KeysPage {
  const [now, last, rows] = reply as unknown as [string, string, readonly (string | number)[]]
  const keys: KeyState[] = []
  for (let at = 0; at < rows.length; at += ROW_FIELDS) keys.push(keyState(rows.slice(at, at + ROW_FIELDS)))
  const page = { now: Number(now), keys }
  return last === '' ? page : { ...page, cursor: encodeCursor(['keys', last]) }
}

function keyState([
  key = '',
  waiting = 0,
  running = 0,
  turn = '',
  rate = '',
  heldId = '',
  heldDue = '',
  own = '',
]: readonly (string | number)[]): KeyState {
  return {
    key: String(key),
    waiting: Math.min(Number(waiting), KEY_COUNT_MAX),
    running: Number(running),
    ...(turn === '' ? {} : { turnAt: Number(turn) }),
    ...(rate === '' ? {} : { rateAt: Number(rate) }),
    ...(heldId === '' ? {} : { held: { id: String(heldId), dueAt: momentOf(heldDue) } }),
    ...(own === '' ? {} : { limit: keyLimit(String(own)) }),
  }
}

/** Weight, interval, burst, concurrency; 0 where there is none. */
function keyLimit(record: string): KeyLimit {
  const [weight = 0, ...allowance] = record.split(' ').map(Number)
  return { ...(weight > 0 ? { weight } : {}), ...allowanceOf(allowance) }
}
