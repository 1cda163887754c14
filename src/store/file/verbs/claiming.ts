/**
 * Handing out: claim due, claim lapsed, and when to ask again.
 *
 * A claim counts the attempt there and then: a worker that dies never reports. The token of a lease names the message
 * and how many leases it has had, which never goes back, so no two leases share one, whatever the clocks say. Cost: one
 * look per wanted topic, one walk over the front of those in which something is due, one row changed per message.
 */
import { PRIORITIES, type PriorityRank } from '../../../core/message.ts'
import type { ClaimDue, ClaimLapsed, ClaimReply, Lease, Next } from '../../contract/store.ts'
import type { Gate } from '../../shared/gates.ts'
import { nextAt, nextOfBoth } from '../../shared/moments.ts'
import { TOPIC_BY_NAME, type TopicRow } from '../database/ledger.ts'
import { WHOLE_ROW, type WholeRow } from '../database/message.ts'
import { IN_TURN } from '../database/schema.ts'
import { corrupt } from '../failure.ts'
import { TurnLine } from '../keys/line.ts'
import { firstMoment, hasLeftovers } from '../keys/moments.ts'
import { isProvable, isProvenDead } from '../process-identity.ts'
import { gatesOf, keepCharged } from './controlling.ts'
import { ClaimBudget, HandOut } from './handing-out.ts'
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
const BY_SEQ = `SELECT ${WHOLE_ROW} FROM message WHERE seq = ?`

/** What a claim would say beside its leases. `hasLeftovers`: something is to be tidied up, which only a claim that writes does. */
export type Outlook = Omit<ClaimReply, 'leases'> & { readonly hasLeftovers?: true }

type WantedTopic = { readonly row: TopicRow; readonly gate: Gate | undefined; left: number }

export function claimDue(scene: Scene, request: ClaimDue): ClaimReply {
  const { ledger, queue, now, turns } = scene
  const owner = internOwner(scene, request.owner, request.facts)
  if (request.facts !== undefined) pruneRemembered(scene)
  const gates = gatesOf(scene, request)
  const limited: string[] = []
  const topics = request.wants.flatMap(({ topic, limit, free = limit }): WantedTopic[] => {
    const row = ledger.topicNamed(queue, topic)
    const gate = gates?.before(topic, { running: row?.running ?? 0, free })
    if (gate?.isLimited === true) limited.push(topic)
    return row === undefined ? [] : [{ row, gate, left: limit }]
  })
  const keyed = keyedOf(topics)
  let isAll = true
  for (const { row } of topics) if (row.stamp !== null) isAll = turns.advance(row) && isAll
  const horizon = (gate: Gate | undefined): number => now + (gate?.leadMs(request.leadMs) ?? request.leadMs)
  const wanted = topics.filter(
    ({ row: { next_at, stamp }, gate }) => stamp !== null || (next_at !== null && next_at <= horizon(gate)),
  )
  const budget = new ClaimBudget(request.limit, request.bytesMax)
  const leases: Lease[] = []
  for (const priority of PRIORITIES.keys() as IterableIterator<PriorityRank>) {
    for (const want of wanted) {
      const limit = Math.min(want.left, budget.entries, want.gate?.left ?? Infinity)
      if (budget.isOver || limit <= 0) continue
      const terms = { owner, until: now + request.leaseMs, isNew: true, topic: want.row.name }
      const handOut = new HandOut(scene, budget, terms)
      const { topic } = want.row
      const due = scene.db.all<WholeRow>(DUE, topic, priority, horizon(want.gate), limit)
      if (want.row.stamp === null) handOut.takeAll(due)
      else {
        const line = new TurnLine(scene, want.row, priority, { until: horizon(want.gate), size: limit })
        takeInTurn(scene, handOut, { due, line, limit })
        isAll &&= !line.isCut
      }
      const claimed = handOut.finish()
      if (claimed.length > 0) ledger.start(topic, claimed.length)
      want.left -= claimed.length
      want.gate?.take(claimed.length)
      leases.push(...claimed)
    }
  }
  keepCharged(scene, gates)
  turns.flush()
  const heads = topics.map(({ row, gate }): Head => ({
    at: firstAt(scene, row, ledger.nextAt(row.topic)),
    gate,
  }))
  const next: Next = isAll ? nextOf(heads, now, request.leadMs) : { state: 'EXPIRED' }
  return { leases, next, ...told({ limited, keyed }) }
}

/** In the order of turns: that of a message without a key is its moment. */
function takeInTurn(
  { db }: Scene,
  handOut: HandOut,
  {
    due,
    line,
    limit,
  }: { readonly due: readonly WholeRow[]; readonly line: TurnLine; readonly limit: number },
): void {
  for (let at = 0; handOut.size < limit;) {
    const [free, first] = [due[at], line.first()]
    const isFree =
      free !== undefined &&
      (first === undefined ||
        free.due_at < first.turn ||
        (free.due_at === first.turn && free.seq < first.seq))
    if (isFree) {
      if (!handOut.take(free)) return
      at += 1
      continue
    }
    if (first === undefined) return
    const row = db.get<WholeRow>(BY_SEQ, first.seq)
    if (row?.state !== IN_TURN) throw corrupt(`message ${first.seq} stands in a line and does not wait`)
    if (!handOut.take(row)) return
    line.serve()
  }
}

/** From a snapshot: what a claim would say beside its leases, so that one that finds nothing writes nothing. */
export function lookForDue(view: View, request: ClaimDue): Outlook {
  const gates = gatesOf(view, request)
  const limited: string[] = []
  const rows: { readonly row: TopicRow }[] = []
  const heads = request.wants.map(({ topic, limit, free = limit }): Head => {
    const row = view.db.get<TopicRow>(TOPIC_BY_NAME, view.queue, topic)
    if (row !== undefined) rows.push({ row })
    const gate = gates?.before(topic, { running: row?.running ?? 0, free })
    if (gate?.isLimited === true) limited.push(topic)
    return { at: row === undefined ? null : firstAt(view, row, row.next_at), gate }
  })
  const next = nextOf(heads, view.now, request.leadMs)
  const isUntidy = rows.some(({ row }) => hasLeftovers(view, row))
  return { next, ...told({ limited, keyed: keyedOf(rows) }), ...(isUntidy ? { hasLeftovers: true } : {}) }
}

/** When the first message of a topic may be handed out, with a key or without. */
function firstAt(view: View, row: TopicRow, plainAt: number | null): number | null {
  if (row.stamp === null) return plainAt
  const at = Math.min(plainAt ?? Infinity, firstMoment(view, row, view.now))
  return at === Infinity ? null : at
}

function keyedOf(topics: readonly { readonly row: TopicRow }[]): string[] {
  return topics.filter(({ row }) => row.stamp !== null).map(({ row }) => row.name)
}

/** What is worth telling of topics. */
function told(words: { readonly limited: readonly string[]; readonly keyed: readonly string[] }): {
  readonly limited?: readonly string[]
  readonly keyed?: readonly string[]
} {
  const { limited } = words
  const keyed = words.keyed.filter((topic) => !limited.includes(topic))
  return { ...(limited.length === 0 ? {} : { limited }), ...(keyed.length === 0 ? {} : { keyed }) }
}

export function claimLapsed(scene: Scene, request: ClaimLapsed): ClaimReply {
  const { now, queue, db } = scene
  const asker = internOwner(scene, request.owner)
  const budget = new ClaimBudget(request.limit, LAPSED_BYTES_MAX)
  const leases: Lease[] = []
  for (const { owner, process } of ownersWithLeases(scene)) {
    if (owner === asker || budget.isOver || budget.entries <= 0) continue
    const until = isProvenDead(process) ? Number.MAX_SAFE_INTEGER : now
    const rows = db.all<WholeRow>(LAPSED, queue, owner, until, budget.entries)
    const handOut = new HandOut(scene, budget, { owner: asker, until: now + request.leaseMs, isNew: false })
    handOut.takeAll(rows)
    leases.push(...handOut.finish())
  }
  return { leases, ...lapsedOutlook(scene, asker) }
}

/** When to ask for lapsed leases again, and whether the asker's own have ended. */
export function lookForLapsed(view: View, { owner }: ClaimLapsed): Outlook {
  return lapsedOutlook(view, ownerNumber(view, owner))
}

function lapsedOutlook(view: View, asker: number | undefined): Outlook {
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
