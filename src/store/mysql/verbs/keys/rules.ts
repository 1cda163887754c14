/**
 * What keys are allowed, as a settlement must know it: in topics whose keys are limited it leaves a note, and what is retried
 * there may hold its key.
 *
 * This is asked under a lock that settlements share, and that who changes a limit has alone: else a claim that obeys a new
 * limit may see this message run, while we do not see the limit, and nothing would be noted.
 */
import { limitsKeys } from '../../../../core/controls.ts'
import { isSerial, termsOf, type KeyLimit } from '../../../../core/keys.ts'
import { controlsOf } from '../../../sql/gating.ts'
import { limitOf } from '../../../sql/key-states.ts'
import { joined, numberOrNull, sql, textOf, type SqlRow, type Statement } from '../../sql/statement.ts'
import type { Steps } from '../../transactions.ts'
import type { KeyOfTopic } from './changes.ts'

export type SettlingRules = {
  readonly limited: ReadonlySet<string>
  readonly isSerial: (topic: string, key: string) => boolean
}

export function shareRules(queue: number): Statement {
  return sql`select queue from punctual_queue force index (primary) where queue = ${queue} lock in share mode`
}

/** Alone: waits for settlements that are under way. */
export function lockRules(queue: number): Statement {
  return sql`select queue from punctual_queue force index (primary) where queue = ${queue} for update`
}

export async function readRules(
  steps: Steps,
  queue: number,
  keys: readonly KeyOfTopic[],
): Promise<SettlingRules> {
  const topics = [...new Set(keys.map(({ topic }) => topic))]
  const names = [...new Set(keys.map(({ key }) => key))]
  const [, controls = [], limits = []] = await steps.send(
    shareRules(queue),
    sql`select topic, control from punctual_control where queue = ${queue} and topic in (${topics})`,
    sql`select topic, its_key, ${KEY_LIMIT} from punctual_key_limit as k
      where queue = ${queue} and topic in (${topics}) and its_key in (${names})`,
  )
  const known = controlsOf({
    names: controls.map((row) => textOf(row['topic'])),
    controls: controls.map((row) => textOf(row['control'])),
  })
  const own = new Map(
    limits.map((row) => [`${textOf(row['topic'])}\n${textOf(row['its_key'])}`, toKeyLimit(row)]),
  )
  return {
    limited: new Set([...known].flatMap(([topic, control]) => (limitsKeys(control) ? [topic] : []))),
    isSerial: (topic, key) => isSerial(termsOf(known.get(topic)?.limit.perKey, own.get(`${topic}\n${key}`))),
  }
}

/** Of a row `k` of `punctual_key_limit`. */
export const KEY_LIMIT = sql`k.weight, k.concurrency, k.interval_ms, k.burst`

export function toKeyLimit(row: SqlRow): KeyLimit {
  return limitOf({
    weight: numberOrNull(row['weight']),
    concurrency: numberOrNull(row['concurrency']),
    interval_ms: numberOrNull(row['interval_ms']),
    burst: numberOrNull(row['burst']),
  })
}

/** The same on the server, for statements that go with a commit: whether keys of a topic are limited, by its control c. */
export const LIMITS_KEYS = sql`(c.control like '%"perKey"%' or c.control like '%"hasKeyLimits":true%')`

/** Notes that these have ended, where keys are limited; then those topics. */
export function noteEnded(queue: number, keys: readonly KeyOfTopic[]): readonly Statement[] {
  const topics = [...new Set(keys.map(({ topic }) => topic))]
  const names = keys.map(
    ({ topic, key }) => sql`select cast(${topic} as binary) as topic, cast(${key} as binary) as its_key`,
  )
  const isLimited = sql`c.queue = ${queue} and c.topic in (${topics}) and ${LIMITS_KEYS}`
  return [
    shareRules(queue),
    sql`insert into punctual_note (queue, topic, its_key, priority, from_at, seq, noted_at)
      select ${queue}, d.topic, d.its_key, -1, 0, 0, 0 from (${joined(names, ' union ')}) as d
        where d.topic in (select c.topic from punctual_control as c where ${isLimited})`,
    sql`select c.topic from punctual_control as c where ${isLimited}`,
  ]
}
