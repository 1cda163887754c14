/**
 * Adds to the figures of the current minute. The first 200 topics of a minute are kept by name, the rest under ''. Lets
 * figures go that are older than 48 hours. Rows are made empty first, so that those who add at the same time take turns.
 */
import type { TopicFigures } from '../../../contract/store.ts'
import { nowOf, readClock, type QueuePlace } from '../../sql/clock.ts'
import { joined, sql, textOf, type SqlRow } from '../../sql/statement.ts'
import type { Steps } from '../../transactions.ts'

const MINUTE = 60_000_000
const KEPT = 172_800_000_000 + MINUTE
const NAMES_MAX = 200
const FORGOTTEN_MAX = 1_000

export async function record(
  steps: Steps,
  { queue, at }: QueuePlace,
  figures: readonly TopicFigures[],
): Promise<void> {
  const [, clock] = await steps.send(...readClock(at))
  const now = nowOf(clock)
  const minute = now - (now % MINUTE)
  const [known = []] = await steps.send(
    sql`select topic from punctual_figure where queue = ${queue} and minute_at = ${minute}`,
  )
  const sums = byName(figures, new Set(known.map((row) => textOf(row['topic']))))
  const names = [...sums.keys()].toSorted()
  const empty = names.map((name) => sql`(${queue}, ${minute}, ${name}, 0, 0, 0, 0, '{}')`)
  const [, rows = []] = await steps.send(
    sql`insert ignore into punctual_figure (queue, minute_at, topic, completed, failed, dead, skipped, lateness)
      values ${joined(empty, ', ')}`,
    sql`select topic, completed, failed, dead, skipped, lateness from punctual_figure force index (primary)
      where queue = ${queue} and minute_at = ${minute} and topic in (${names}) order by topic for update`,
  )
  for (const row of rows) sums.get(textOf(row['topic']))?.addRow(row)
  const values = [...sums].map(
    ([name, { completed, failed, dead, skipped, lateness }]) =>
      sql`(${queue}, ${minute}, ${name}, ${completed}, ${failed}, ${dead}, ${skipped},
        ${JSON.stringify(Object.fromEntries(lateness))})`,
  )
  await steps.commit(
    sql`insert into punctual_figure (queue, minute_at, topic, completed, failed, dead, skipped, lateness)
      values ${joined(values, ', ')} on duplicate key update completed = values(completed), failed = values(failed),
        dead = values(dead), skipped = values(skipped), lateness = values(lateness)`,
    sql`delete from punctual_figure where queue = ${queue} and minute_at <= ${now - KEPT} limit ${FORGOTTEN_MAX}`,
  )
}

class MinuteSum {
  completed = 0
  failed = 0
  dead = 0
  skipped = 0
  readonly lateness = new Map<number, number>()

  add({ completed, failed, dead, skipped, lateness }: Omit<TopicFigures, 'topic'>): void {
    this.completed += completed
    this.failed += failed
    this.dead += dead
    this.skipped += skipped
    for (const [bucket, n] of lateness) this.lateness.set(bucket, (this.lateness.get(bucket) ?? 0) + n)
  }

  addRow(row: SqlRow): void {
    const buckets = Object.entries(JSON.parse(textOf(row['lateness'])) as Record<string, number>)
    this.add({
      completed: Number(row['completed']),
      failed: Number(row['failed']),
      dead: Number(row['dead']),
      skipped: Number(row['skipped']),
      lateness: buckets.map(([bucket, n]) => [Number(bucket), n]),
    })
  }
}

function byName(figures: readonly TopicFigures[], known: ReadonlySet<string>): Map<string, MinuteSum> {
  const kept = new Set([...known].filter((name) => name !== ''))
  const sums = new Map<string, MinuteSum>()
  for (const { topic, ...counts } of figures) {
    const isKept = kept.has(topic) || kept.size < NAMES_MAX
    if (isKept) kept.add(topic)
    const name = isKept ? topic : ''
    const sum = sums.get(name) ?? new MinuteSum()
    sum.add(counts)
    sums.set(name, sum)
  }
  return sums
}
