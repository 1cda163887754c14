/** How keys stand, for people: page by page, or those that are named. */
import { PRIORITIES } from '../../../core/message.ts'
import { KEY_COUNT_MAX } from '../../contract/sizes.ts'
import type { KeyState, KeysPage, KeysQuery } from '../../contract/store.ts'
import { limitColumns, toKeyState, type KeyRow } from '../../sql/key-states.ts'
import { parseCursor } from '../verbs/cursor.ts'
import { TOPIC_BY_NAME, type TopicRow } from '../database/ledger.ts'
import type { View } from '../verbs/scene.ts'
import { FileKeyRules, ownLimit } from './rules.ts'

const MICROS = 1_000
/** No topic has this number. */
const NO_TOPIC = -1

const NAMES = `SELECT * FROM (SELECT DISTINCT key FROM turn WHERE topic = ?1 AND key > ?2 ORDER BY key LIMIT ?3)
  UNION SELECT * FROM (SELECT DISTINCT key FROM place INDEXED BY place_running
    WHERE state = 1 AND topic = ?1 AND key > ?2 ORDER BY key LIMIT ?3)
  UNION SELECT * FROM (SELECT key FROM used_rate WHERE topic = ?1 AND key > ?2 AND filled_at > ?4 ORDER BY key LIMIT ?3)
  UNION SELECT * FROM (SELECT key FROM key_limit WHERE queue = ?5 AND topic = ?6 AND key > ?2 ORDER BY key LIMIT ?3)
  ORDER BY key LIMIT ?3`
const WAITING = `SELECT count(*) AS n FROM (SELECT 1 FROM place INDEXED BY place_line
  WHERE state = 0 AND topic = ? AND key = ? LIMIT ${KEY_COUNT_MAX})`
const RUNNING = `SELECT count(*) AS n FROM (SELECT 1 FROM place INDEXED BY place_running
  WHERE state = 1 AND topic = ? AND key = ? LIMIT ${KEY_COUNT_MAX})`
const TURNS = 'SELECT priority, served_at, due_at FROM turn WHERE topic = ? AND key = ? AND seq > 0'
const RATE = 'SELECT filled_at AS at FROM used_rate WHERE topic = ? AND key = ?'
const HOLDER = `SELECT message.id, place.priority, place.due_at FROM place INDEXED BY place_holding JOIN message USING (seq)
  WHERE is_holding = 1 AND place.topic = ? AND key = ? ORDER BY place.due_at, seq LIMIT 1`

type ShownTurn = { readonly priority: number; readonly served_at: number; readonly due_at: number }
type HolderRow = { readonly id: string; readonly priority: number; readonly due_at: number }

export function keysPage(view: View, query: KeysQuery): KeysPage {
  const { db, queue, now } = view
  const topic = db.get<TopicRow>(TOPIC_BY_NAME, queue, query.topic)?.topic ?? NO_TOPIC
  const perKey = new FileKeyRules(view).perKey(query.topic)
  const stateOf = (key: string): KeyState => toKeyState(keyRow(view, topic, query.topic, key), perKey)
  if ('keys' in query) return { now, keys: query.keys.map(stateOf) }
  const [after = ''] = parseCursor(query.cursor, ['string']) ?? []
  const names = db.all<{ key: string }>(NAMES, topic, after, query.limit + 1, now, queue, query.topic)
  const keys = names.slice(0, query.limit).map(({ key }) => stateOf(key))
  const last = names.length > query.limit ? keys.at(-1) : undefined
  return last === undefined ? { now, keys } : { now, keys, cursor: JSON.stringify([last.key]) }
}

function keyRow(view: View, topic: number, name: string, key: string): KeyRow {
  const { db, now } = view
  const turns = db.all<ShownTurn>(TURNS, topic, key)
  const turnOf = (rank: number): ShownTurn | undefined => turns.find(({ priority }) => priority === rank)
  const ranks = [...PRIORITIES.keys()]
  const usedUntil = db.get<{ at: number }>(RATE, topic, key)?.at
  const holder = db.get<HolderRow>(HOLDER, topic, key)
  const own = ownLimit(view, name, key)
  const [weight = null, concurrency = null, intervalMs = null, burst = null] = limitColumns(own ?? {})
  return {
    now_at: now * MICROS,
    key,
    waiting: db.get<{ n: number }>(WAITING, topic, key)?.n ?? 0,
    running: db.get<{ n: number }>(RUNNING, topic, key)?.n ?? 0,
    dues: ranks.map((rank) => micros(turnOf(rank)?.due_at)),
    served: ranks.map((rank) => micros(turnOf(rank)?.served_at)),
    used_until: micros(usedUntil),
    held_id: holder?.id ?? null,
    held_rank: holder?.priority ?? null,
    held_at: micros(holder?.due_at),
    has_limit: own !== undefined,
    weight,
    concurrency,
    interval_ms: intervalMs,
    burst,
  }
}

function micros(ms: number | undefined): number | null {
  return ms === undefined ? null : ms * MICROS
}
