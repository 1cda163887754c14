/**
 * Handing out: what is due, by priority and then in the order of the wants, as far as pauses and limits allow; and what
 * lapsed, oldest first.
 *
 * Cost: O(wants + leases), and O(1) for each message that has come due since the last call.
 */
import { PRIORITIES, type PriorityRank } from '../../core/message.ts'
import type { ClaimDue, ClaimLapsed, ClaimReply, Lease, Next } from '../contract/store.ts'
import { Gates, type Gate } from '../shared/gates.ts'
import { nextAt } from '../shared/moments.ts'
import type { Messages } from './messages.ts'
import { isReady, type Topic } from './topics.ts'

type Wanted = { readonly topic: Topic; left: number; readonly gate?: Gate }

export function claimDue(messages: Messages, request: ClaimDue, now: number): ClaimReply {
  const isMoved = messages.waiting.advance(now)
  const { keyed, isAll } = messages.waiting.advanceKeys(topicsOf(request), now)
  const claimed = claimMoved(messages, request, now)
  const reply = isMoved && isAll ? claimed : { ...claimed, next: { state: 'EXPIRED' } as const }
  const open = keyed.filter((name) => reply.limited?.includes(name) !== true)
  return open.length === 0 ? reply : { ...reply, keyed: open }
}

function* topicsOf({ wants }: ClaimDue): Iterable<string> {
  for (const { topic } of wants) yield topic
}

function claimMoved(messages: Messages, request: ClaimDue, now: number): ClaimReply {
  if (messages.controls.size > 0) return claimGated(messages, request, now)
  const wanted = request.wants.flatMap((want): Wanted[] => {
    const topic = messages.topics.named(want.topic)
    return topic === undefined ? [] : [{ topic, left: want.limit }]
  })
  const leases = takeDue(messages, wanted, request, now)
  return { leases, next: nextOf(messages, wanted, now) }
}

/** The same where something is paused or has a limit. */
function claimGated(messages: Messages, request: ClaimDue, now: number): ClaimReply {
  const gates = new Gates(messages.controls, request, now)
  const limited: string[] = []
  const wanted = request.wants.flatMap((want): Wanted[] => {
    const topic = messages.topics.named(want.topic)
    const running = topic?.running ?? 0
    const gate = gates.before(want.topic, { running, free: want.free ?? want.limit })
    if (gate?.isLimited === true) limited.push(want.topic)
    return topic === undefined ? [] : [{ topic, left: want.limit, ...(gate === undefined ? {} : { gate }) }]
  })
  const leases = takeDue(messages, wanted, request, now)
  for (const [topic, control] of gates.charged()) messages.controls.set(topic, control)
  const next = nextOf(messages, wanted, now)
  return limited.length === 0 ? { leases, next } : { leases, next, limited }
}

function nextOf({ waiting }: Messages, wanted: readonly Wanted[], now: number): Next {
  const open = wanted.filter(({ gate }) => gate === undefined).map(({ topic }) => topic)
  if (open.some((topic) => isReady(topic))) return { state: 'EXPIRED' }
  const gated = wanted.flatMap(({ topic, gate }) => (gate === undefined ? [] : [{ topic, gate }]))
  return waiting.promise(open, gated, now)
}

function takeDue(messages: Messages, wanted: readonly Wanted[], request: ClaimDue, now: number): Lease[] {
  const leases: Lease[] = []
  let bytes = 0
  for (const priority of PRIORITIES.keys() as IterableIterator<PriorityRank>) {
    for (const want of wanted) {
      while (want.left > 0 && leases.length < request.limit && want.gate?.left !== 0) {
        const slot = firstOf(messages, want.topic, priority)
        if (slot === undefined) break
        bytes += messages.table.body(slot).length
        if (bytes > request.bytesMax && leases.length > 0) return leases
        want.left -= 1
        want.gate?.take(1)
        leases.push(messages.lease(slot, now, request))
      }
    }
  }
  return leases
}

/** The next one in the order of turns: the turn of a message without a key is its moment. */
function firstOf({ table }: Messages, { lines, keys }: Topic, priority: PriorityRank): number | undefined {
  const slot = lines[priority]?.first()
  const keyed = keys?.first(priority)
  if (keyed === undefined || slot === undefined) return keyed?.slot ?? slot
  const [dueAt, order] = [table.dueAt[slot] as number, table.order[slot] as number]
  return keyed.turn < dueAt || (keyed.turn === dueAt && keyed.order < order) ? keyed.slot : slot
}

export function claimLapsed(messages: Messages, request: ClaimLapsed, now: number): ClaimReply {
  const { leases: held } = messages
  const isMoved = held.advance(now)
  const leases: Lease[] = []
  while (leases.length < request.limit) {
    const slot = held.firstLapsed(request.owner)
    if (slot === undefined) break
    leases.push(messages.takeOver(slot, now, request))
  }
  const isMore = !isMoved || held.firstLapsed(request.owner) !== undefined
  const next = isMore ? ({ state: 'EXPIRED' } as const) : nextAt(held.nextEndAt(request.owner), now)
  return held.hasLapsed(request.owner) ? { leases, next, isOwnLapsed: true } : { leases, next }
}
