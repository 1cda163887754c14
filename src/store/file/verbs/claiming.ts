/**
 * Handing out: claim due, claim lapsed, and when to ask again.
 *
 * A claim counts the attempt there and then: a worker that dies never reports. The token of a lease names the message
 * and how many leases it has had, which never goes back, so no two leases share one, whatever the clocks say. Cost: one
 * look per wanted topic, one walk over the front of those in which something is due, one row changed per message.
 */
import { PRIORITIES } from '../../../core/message.ts'
import type { ClaimDue, ClaimLapsed, ClaimReply, Lease, Next } from '../../contract/store.ts'
import type { Gate } from '../../shared/gates.ts'
import { nextAt, nextOfBoth } from '../../shared/moments.ts'
import { TOPIC_BY_NAME, type TopicRow } from '../database/ledger.ts'
import { AMONG, WHOLE_ROW, readTexts, type WholeRow } from '../database/message.ts'
import { isProvable, isProvenDead } from '../process-identity.ts'
import { gatesOf, keepCharged } from './controlling.ts'
import { internOwner, ownerNumber, ownersWithLeases, type OwnerRow } from './owners.ts'
import { pruneRemembered } from './remembering.ts'
import type { Scene, View } from './scene.ts'

/** While others hold leases who could be proven dead, it is worth asking so often whether they are. */
const ASK_AGAIN_MS = 1500
/** What a takeover may read at once. */
const LAPSED_BYTES_MAX = 16 * 1024 * 1024

const DUE = `SELECT ${WHOLE_ROW} FROM message INDEXED BY message_due
  WHERE state = 0 AND topic = ? AND priority = ? AND due_at <= ? ORDER BY due_at, seq LIMIT ?`
const LAPSED = `SELECT ${WHOLE_ROW} FROM message INDEXED BY message_running
  WHERE state = 1 AND queue = ? AND owner = ? AND until <= ? ORDER BY until, seq LIMIT ?`
const FIRST_LAPSE = `SELECT min(until) AS at FROM message INDEXED BY message_running
  WHERE state = 1 AND queue = ? AND owner = ?`
const LEASE = `UPDATE message SET state = 1, until = ?, leased_at = ?, owner = ?, lease = lease + 1, is_taken_over = ?,
  attempt = attempt + ? WHERE ${AMONG}`
const TOPIC_NAME = 'SELECT name FROM topic WHERE topic = ?'

/** What is left of the limits of one claim. The first message is handed out whatever its size. */
type Budget = { entries: number; bytes: number; isFresh: boolean; isOver: boolean }

export function claimDue(scene: Scene, request: ClaimDue): ClaimReply {
  const { ledger, queue, now } = scene
  const owner = internOwner(scene, request.owner, request.facts)
  if (request.facts !== undefined) pruneRemembered(scene)
  const gates = gatesOf(scene, request)
  const limited: string[] = []
  const topics = request.wants.flatMap(({ topic, limit, free = limit }) => {
    const row = ledger.topicNamed(queue, topic)
    const gate = gates?.before(topic, { running: row?.running ?? 0, free })
    if (gate?.isLimited === true) limited.push(topic)
    return row === undefined ? [] : [{ row, gate, left: limit }]
  })
  const horizon = (gate: Gate | undefined): number => now + (gate?.leadMs(request.leadMs) ?? request.leadMs)
  const wanted = topics.filter(({ row: { next_at }, gate }) => next_at !== null && next_at <= horizon(gate))
  const budget: Budget = { entries: request.limit, bytes: request.bytesMax, isFresh: true, isOver: false }
  const leases: Lease[] = []
  for (const priority of PRIORITIES.keys()) {
    for (const want of wanted) {
      const limit = Math.min(want.left, budget.entries, want.gate?.left ?? Infinity)
      if (budget.isOver || limit <= 0) continue
      const rows = scene.db.all<WholeRow>(DUE, want.row.topic, priority, horizon(want.gate), limit)
      const claimed = lease(scene, rows, budget, {
        owner,
        until: now + request.leaseMs,
        isNew: true,
        topic: want.row.name,
      })
      if (claimed.length > 0) ledger.start(want.row.topic, claimed.length)
      want.left -= claimed.length
      want.gate?.take(claimed.length)
      leases.push(...claimed)
    }
  }
  keepCharged(scene, gates)
  const heads = topics.map(({ row, gate }) => ({ at: ledger.nextAt(row.topic), gate }))
  return { leases, next: nextOf(heads, now, request.leadMs), ...(limited.length === 0 ? {} : { limited }) }
}

/** From a snapshot: what a claim would say beside its leases, so that one that finds nothing writes nothing. */
export function lookForDue(view: View, request: ClaimDue): Omit<ClaimReply, 'leases'> {
  const gates = gatesOf(view, request)
  const limited: string[] = []
  const heads = request.wants.map(({ topic, limit, free = limit }): Head => {
    const row = view.db.get<TopicRow>(TOPIC_BY_NAME, view.queue, topic)
    const gate = gates?.before(topic, { running: row?.running ?? 0, free })
    if (gate?.isLimited === true) limited.push(topic)
    return { at: row?.next_at ?? null, gate }
  })
  const next = nextOf(heads, view.now, request.leadMs)
  return limited.length === 0 ? { next } : { next, limited }
}

export function claimLapsed(scene: Scene, request: ClaimLapsed): ClaimReply {
  const { now, queue, db } = scene
  const asker = internOwner(scene, request.owner)
  const budget: Budget = { entries: request.limit, bytes: LAPSED_BYTES_MAX, isFresh: true, isOver: false }
  const leases: Lease[] = []
  for (const { owner, process } of ownersWithLeases(scene)) {
    if (owner === asker || budget.isOver || budget.entries <= 0) continue
    const until = isProvenDead(process) ? Number.MAX_SAFE_INTEGER : now
    const rows = db.all<WholeRow>(LAPSED, queue, owner, until, budget.entries)
    leases.push(...lease(scene, rows, budget, { owner: asker, until: now + request.leaseMs, isNew: false }))
  }
  return { leases, ...lapsedOutlook(scene, asker) }
}

/** When to ask for lapsed leases again, and whether the asker's own have ended. */
export function lookForLapsed(view: View, { owner }: ClaimLapsed): Omit<ClaimReply, 'leases'> {
  return lapsedOutlook(view, ownerNumber(view, owner))
}

function lapsedOutlook(view: View, asker: number | undefined): Omit<ClaimReply, 'leases'> {
  let first = Infinity
  let isOwnLapsed = false
  for (const holder of ownersWithLeases(view)) {
    const endsAt = view.db.get<{ at: number }>(FIRST_LAPSE, view.queue, holder.owner)?.at ?? Infinity
    if (holder.owner === asker) isOwnLapsed = endsAt <= view.now
    else first = Math.min(first, takeoverAt(view, holder, endsAt))
  }
  const next = nextAt(first === Infinity ? undefined : first, view.now)
  return isOwnLapsed ? { next, isOwnLapsed } : { next }
}

function takeoverAt({ now }: View, { process }: OwnerRow, endsAt: number): number {
  if (endsAt <= now || isProvenDead(process)) return now
  return isProvable(process) ? Math.min(endsAt, now + ASK_AGAIN_MS) : endsAt
}

type Terms = {
  readonly owner: number
  readonly until: number
  /** Whether it is a new attempt, or one that is taken over. */
  readonly isNew: boolean
  /** Of all of them; undefined when they are of several. */
  readonly topic?: string
}

function lease(scene: Scene, rows: readonly WholeRow[], budget: Budget, terms: Terms): Lease[] {
  const { db, now } = scene
  const leases: Lease[] = []
  const begun = terms.isNew ? 1 : 0
  for (const row of rows) {
    const { body, meta } = readTexts(db, row)
    if (body.length > budget.bytes && !budget.isFresh) {
      budget.isOver = true
      break
    }
    budget.isFresh = false
    budget.bytes -= body.length
    budget.entries -= 1
    leases.push({
      id: row.id,
      token: `${row.seq}.${row.lease + 1}`,
      topic: terms.topic ?? db.get<{ name: string }>(TOPIC_NAME, row.topic)?.name ?? '',
      body,
      meta,
      priority: row.priority,
      dueAt: row.due_at,
      firstDueAt: row.first_due_at ?? row.due_at,
      attempt: row.attempt + begun,
      lapses: row.lapses,
      latenessMs: now - row.due_at,
    })
  }
  const taken = rows.slice(0, leases.length).map(({ seq }) => seq)
  if (taken.length > 0) db.run(LEASE, terms.until, now, terms.owner, 1 - begun, begun, JSON.stringify(taken))
  return leases
}

/** When the first message of a topic is due, and what holds the topic back. */
type Head = { readonly at: number | null; readonly gate: Gate | undefined }

function nextOf(heads: readonly Head[], now: number, leadMs: number): Next {
  let first = Infinity
  let gated = Infinity
  for (const { at, gate } of heads) {
    if (at === null) continue
    if (gate === undefined) first = Math.min(first, at - leadMs)
    else gated = Math.min(gated, gate.againAt(at, leadMs) ?? Infinity)
  }
  return nextOfBoth(first, gated, now)
}
