/** Pauses and limits as rows: how they are read, written back, and moved by what a claim hands out. */
import type { KeyLimitChange, KnownKeyLimits } from '../shared/controls.ts'
import type { ControlsWrite } from '../sql/controlling.ts'
import { controlsOf, type GatedClaim, type GateRow } from '../sql/gating.ts'
import { limitColumns } from '../sql/key-states.ts'
import { nowOf, readClock, type QueuePlace } from './sql/clock.ts'
import { numberOrNull, sql, textOf, type Statement } from './sql/statement.ts'
import type { Rows, Transactions } from './transactions.ts'
import { noteFreed, RULES_CHANGED } from './verbs/keys/changes.ts'
import { lockRules } from './verbs/keys/rules.ts'

/** What a claim must know where pauses and limits are: all of them, their revision, and how many run of each topic. */
export async function readGate(
  calls: Transactions,
  { queue, at }: QueuePlace,
  topics: readonly string[],
  also: readonly Statement[] = [],
): Promise<GateRow> {
  const running = sql`select topic, sum(running) as running from (
      select topic, running from punctual_total where queue = ${queue} and topic in (${topics})
      union all select topic, running from punctual_delta where queue = ${queue} and topic in (${topics})) s group by topic`
  const replies = await calls.look(async (steps) => {
    const rows = await steps.send(
      ...readClock(at),
      sql`select topic, control from punctual_control where queue = ${queue} order by topic`,
      sql`select revision from punctual_revision where queue = ${queue}`,
      ...(topics.length === 0 ? [] : [running]),
    )
    await steps.commit()
    return rows
  })
  const [, clock, controls = [], revisions = [], counts = []] = replies
  if (also.length > 0) await calls.flight(...also)
  const runs = new Map(counts.map((row) => [textOf(row['topic']), Number(row['running'])]))
  const revision = numberOrNull(revisions[0]?.['revision'])
  if (revision === null && controls.length > 0) {
    // Controls without a revision were written by hand. No claim would ever find the one that it read, so they get one.
    await calls.flight(sql`insert ignore into punctual_revision (queue, revision) values (${queue}, 1)`)
    return readGate(calls, { queue, at }, topics)
  }
  return {
    now_at: nowOf(clock),
    revision,
    names: controls.length === 0 ? null : controls.map((row) => textOf(row['topic'])),
    controls: controls.length === 0 ? null : controls.map((row) => textOf(row['control'])),
    running: topics.map((topic) => runs.get(topic) ?? 0),
  }
}

/** False: they have another revision than the one that was read. */
export function writeControls(
  calls: Transactions,
  queue: number,
  { revision, gone, changed }: ControlsWrite,
  ofKey: KeyLimitChange | undefined,
): Promise<boolean> {
  const names = [...gone, ...changed.map(([name]) => name)]
  return calls.run(async (steps) => {
    // Before claims are kept out: settlements that are under way do not wait for these. A new row waits for the revision of
    // another who makes it at the same time.
    const [, , found = [], before = []] = await steps.send(
      lockRules(queue),
      sql`insert ignore into punctual_revision (queue, revision) values (${queue}, -1)`,
      sql`select revision from punctual_revision where queue = ${queue} for update`,
      sql`select topic, control from punctual_control where queue = ${queue} and topic in (${names})`,
    )
    const current = Number(found[0]?.['revision'])
    if (current !== (revision ?? -1)) return false
    await steps.commit(
      ...gone.map((name) => sql`delete from punctual_control where queue = ${queue} and topic = ${name}`),
      ...changed.map(([topic, control]) => setControl(queue, topic, control)),
      ...noteRules(queue, names, before, changed),
      ...(ofKey === undefined ? [] : setKeyLimit(queue, ofKey)),
      sql`update punctual_revision set revision = ${(revision ?? 0) + 1} where queue = ${queue}`,
    )
    return true
  })
}

/** How many keys of the topic have limits of their own, and whether this one has. */
export async function countKeyLimits(
  calls: Transactions,
  queue: number,
  { topic, key }: KeyLimitChange,
): Promise<KnownKeyLimits> {
  const [[row] = []] = await calls.flight(
    sql`select count(*) as count, coalesce(sum(its_key = ${key}), 0) as is_there from punctual_key_limit
      where queue = ${queue} and topic = ${topic}`,
  )
  return { count: Number(row?.['count']), isThere: Number(row?.['is_there']) > 0 }
}

function setKeyLimit(queue: number, { topic, key, limit }: KeyLimitChange): Statement[] {
  const name = sql`${queue}, ${topic}, ${key}`
  const [weight = null, concurrency = null, interval = null, burst = null] =
    limit === null ? [] : limitColumns(limit)
  const set =
    limit === null
      ? sql`delete from punctual_key_limit where queue = ${queue} and topic = ${topic} and its_key = ${key}`
      : sql`insert into punctual_key_limit (queue, topic, its_key, weight, concurrency, interval_ms, burst)
          values (${name}, ${weight}, ${concurrency}, ${interval}, ${burst})
          on duplicate key update weight = values(weight), concurrency = values(concurrency),
            interval_ms = values(interval_ms), burst = values(burst)`
  return [set, ...noteFreed(queue, [{ topic, key }])]
}

function perKeyOf(controls: ReturnType<typeof controlsOf>, topic: string): string {
  return JSON.stringify(controls.get(topic)?.limit.perKey ?? null)
}

/** What keys are allowed changes: those that are held back by now are looked at anew. Where none is, there is no row of a topic. */
function noteRules(
  queue: number,
  names: readonly string[],
  before: Rows,
  changed: ControlsWrite['changed'],
): Statement[] {
  const old = controlsOf({
    names: before.map((row) => textOf(row['topic'])),
    controls: before.map((row) => textOf(row['control'])),
  })
  const now = controlsOf({ names: changed.map(([name]) => name), controls: changed.map(([, text]) => text) })
  const topics = names.filter((name) => perKeyOf(old, name) !== perKeyOf(now, name))
  if (topics.length === 0) return []
  return [
    sql`insert into punctual_note (queue, topic, its_key, priority, from_at, seq, noted_at)
      select queue, topic, '', ${RULES_CHANGED}, 0, seq, 0 from punctual_turn force index (primary)
        where queue = ${queue} and topic in (${topics}) and its_key = '' and priority = 0`,
  ]
}

function setControl(queue: number, topic: string, control: string): Statement {
  return sql`insert into punctual_control (queue, topic, control) values (${queue}, ${topic}, ${control})
    on duplicate key update control = values(control)`
}

type Handed = {
  readonly topics: readonly string[]
  readonly taken: readonly number[]
  readonly isLimited: readonly boolean[]
}

/** The meters of limits after so many were handed out. Topics of our own do not count for the whole queue. */
export function metersMoved(queue: number, gate: GateRow, gated: GatedClaim, handed: Handed): Statement[] {
  const [names, rateAt, rateStep, overAt, overStep] = gated.meters as readonly [
    string[],
    ...(readonly (number | null)[])[],
  ]
  const moved = names.flatMap((name, i) => {
    const n = handed.topics.reduce((sum, topic, t) => {
      const counts = handed.isLimited[t] === true && (name === '' ? topic > '\u0002' : topic === name)
      return counts ? sum + (handed.taken[t] ?? 0) : sum
    }, 0)
    const text = gate.controls?.[gate.names?.indexOf(name) ?? -1]
    if (n === 0 || text === undefined) return []
    const control = JSON.parse(text) as Record<string, unknown>
    const step = (key: string, at: number | null | undefined, by: number | null | undefined): void => {
      if (typeof at === 'number' && typeof by === 'number') control[key] = at + n * by
    }
    step('filledAt', rateAt?.[i], rateStep?.[i])
    step('overFilledAt', overAt?.[i], overStep?.[i])
    return [setControl(queue, name, JSON.stringify(control))]
  })
  return moved
}
