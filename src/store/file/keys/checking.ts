/** For the doctor: whether what is kept of keys fits the messages, and no key is left out of its line for good. */
import type { Database } from '../database/database.ts'
import type { View } from '../verbs/scene.ts'
import { FileKeyRules } from './rules.ts'

const SLICE = 500

const WRONG = `SELECT 'the place of message ' || place.seq || ' is not its own' AS problem
    FROM place LEFT JOIN message USING (seq) WHERE message.id IS NULL OR message.mark & 4 = 0 OR message.topic <> place.topic AND message.state <> 3
      OR message.priority <> place.priority OR message.due_at <> place.due_at OR place.is_holding AND place.state <> 0
      OR place.state IS NOT CASE message.state WHEN 4 THEN 0 WHEN 1 THEN 1 WHEN 2 THEN 2 WHEN 3 THEN 3 END
  UNION ALL SELECT 'message ' || seq || ' has lost its key' FROM message
    WHERE (mark & 4 <> 0 OR state = 4) AND (state = 0 OR NOT EXISTS (SELECT 1 FROM place WHERE place.seq = message.seq))
  UNION ALL SELECT 'message ' || place.seq || ' waits, and its key "' || key || '" has no turn' FROM place
    WHERE state = 0 AND NOT EXISTS (SELECT 1 FROM turn
      WHERE turn.topic = place.topic AND turn.key = place.key AND turn.priority = place.priority)
  UNION ALL SELECT 'the turn of key "' || turn.key || '" is not that of its first message' FROM turn LEFT JOIN place USING (seq)
    WHERE turn.seq > 0 AND (place.state IS NOT 0 OR place.topic <> turn.topic OR place.key <> turn.key OR place.priority <> turn.priority
      OR place.due_at <> turn.due_at OR turn.next_at <> max(turn.due_at, turn.served_at)
      OR NOT place.is_holding AND EXISTS (SELECT 1 FROM place AS other INDEXED BY place_line
        WHERE other.state = 0 AND other.topic = turn.topic AND other.key = turn.key AND other.priority = turn.priority
          AND other.due_at < turn.due_at))
  UNION ALL SELECT 'topic ' || topic || ' is said to have keys, and has none' FROM keyed_topic
    WHERE NOT EXISTS (SELECT 1 FROM turn WHERE turn.topic = keyed_topic.topic)
      AND NOT EXISTS (SELECT 1 FROM used_rate WHERE used_rate.topic = keyed_topic.topic)
  UNION ALL SELECT 'key "' || key || '" is of a topic that is said to have none'
    FROM (SELECT topic, key FROM turn UNION ALL SELECT topic, key FROM used_rate)
    WHERE NOT EXISTS (SELECT 1 FROM keyed_topic WHERE keyed_topic.topic = topic)
  UNION ALL SELECT 'the limit of key "' || key || '" is one that its topic does not know of' FROM key_limit
    LEFT JOIN control USING (queue, topic) WHERE json_extract(control, '$.hasKeyLimits') IS NOT 1
  LIMIT ?`
const HELD = `SELECT queue, topic, name, key, EXISTS (SELECT 1 FROM keyed_topic
      WHERE keyed_topic.topic = held.topic AND sweep IS NOT NULL) OR EXISTS (SELECT 1 FROM used_rate
      WHERE used_rate.topic = held.topic AND used_rate.key = held.key AND opens_at IS NOT NULL) AS isWaiting
  FROM (SELECT DISTINCT topic, key FROM turn INDEXED BY turn_held
    WHERE next_at IS NULL AND seq > 0 AND (topic, key) > (?, ?) ORDER BY topic, key LIMIT ${SLICE}) AS held LEFT JOIN topic USING (topic)`
const RUNNING = `SELECT count(*) AS n FROM (SELECT 1 FROM place INDEXED BY place_running
  WHERE state = 1 AND topic = ? AND key = ? LIMIT ?)`
const HOLDER = `SELECT 1 FROM place INDEXED BY place_holding WHERE is_holding = 1 AND topic = ? AND key = ? LIMIT 1`

type HeldKey = {
  readonly queue: number
  readonly topic: number
  readonly name: string
  readonly key: string
  /** For its rate, or for claims that tell it of another limit. */
  readonly isWaiting: 0 | 1
}

export function* keyProblems(view: View, max: number): Generator<string> {
  for (const { problem } of view.db.all<{ problem: string }>(WRONG, max)) yield problem
  for (const { queue, topic, name, key, isWaiting } of heldKeys(view.db)) {
    const { concurrency = Infinity } = new FileKeyRules({ ...view, queue }).termsOf(name, key)
    const running = view.db.get<{ n: number }>(RUNNING, topic, key, Math.min(concurrency, 1e9))?.n ?? 0
    const isHeld = concurrency === 1 && view.db.get(HOLDER, topic, key) !== undefined
    if (running < concurrency && !isHeld && isWaiting === 0)
      yield `key "${key}" of topic "${name}" is held back by nothing`
  }
}

function* heldKeys(db: Database): Generator<HeldKey> {
  for (let [topic, key] = [-1, '']; ;) {
    const rows = db.all<HeldKey>(HELD, topic, key)
    yield* rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < SLICE) return
    topic = last.topic
    key = last.key
  }
}
