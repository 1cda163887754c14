/** What the keys of a topic are allowed: the limit of all, in the control of the topic, and those of single keys, by key. */
import type { Allowance, TopicControl } from '../../../core/controls.ts'
import { termsOf, type KeyTerms } from '../../../core/keys.ts'
import { limitColumns, limitOf, type KeyLimitColumns } from '../../sql/key-states.ts'
import type { KeyLimit } from '../../contract/store.ts'
import type { KeyLimitChange, KnownKeyLimits } from '../../shared/controls.ts'
import type { View } from '../verbs/scene.ts'

const CONTROL = 'SELECT control FROM control WHERE queue = ? AND topic = ?'
const COLUMNS = 'weight, concurrency, interval_ms, burst'
const LIMIT = `SELECT ${COLUMNS} FROM key_limit WHERE queue = ? AND topic = ? AND key = ?`
const KNOWN = `SELECT count(*) AS count, coalesce(max(key = ?), 0) AS isThere FROM key_limit WHERE queue = ? AND topic = ?`
const SET = `INSERT OR REPLACE INTO key_limit (queue, topic, key, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`
const FORGET = 'DELETE FROM key_limit WHERE queue = ? AND topic = ? AND key = ?'

/** Read once for a call, by topic. */
export class FileKeyRules {
  readonly #view: View
  readonly #controls = new Map<string, TopicControl | undefined>()

  constructor(view: View) {
    this.#view = view
  }

  perKey(topic: string): Allowance | undefined {
    return this.#control(topic)?.limit.perKey
  }

  termsOf(topic: string, key: string): KeyTerms {
    const hasOwn = this.#control(topic)?.hasKeyLimits === true
    return termsOf(this.perKey(topic), hasOwn ? ownLimit(this.#view, topic, key) : undefined)
  }

  #control(topic: string): TopicControl | undefined {
    if (!this.#controls.has(topic)) {
      const { db, queue } = this.#view
      const row = db.get<{ control: string }>(CONTROL, queue, topic)
      this.#controls.set(topic, row === undefined ? undefined : (JSON.parse(row.control) as TopicControl))
    }
    return this.#controls.get(topic)
  }
}

export function ownLimit({ db, queue }: View, topic: string, key: string): KeyLimit | undefined {
  const row = db.get<KeyLimitColumns>(LIMIT, queue, topic, key)
  return row === undefined ? undefined : limitOf(row)
}

export function knownKeyLimits({ db, queue }: View, { topic, key }: KeyLimitChange): KnownKeyLimits {
  const row = db.get<{ count: number; isThere: 0 | 1 }>(KNOWN, key, queue, topic)
  return { count: row?.count ?? 0, isThere: row?.isThere === 1 }
}

export function setKeyLimit({ db, queue }: View, { topic, key, limit }: KeyLimitChange): void {
  if (limit === null) db.run(FORGET, queue, topic, key)
  else db.run(SET, queue, topic, key, ...limitColumns(limit))
}
