/**
 * Handing out: what is due, by priority and then in the order of the wants, as far as pauses and limits allow; and what
 * lapsed, oldest first.
 *
 * Cost: O(wants + leases), and O(1) for each message that has come due since the last call.
 */
import { PRIORITIES } from '../../core/message.ts'
import type { ClaimDue, ClaimLapsed, ClaimReply, Lease, Next } from '../contract/store.ts'
import { Gates, type Gate } from '../shared/gates.ts'
import { nextAt } from '../shared/moments.ts'
import type { Messages } from './messages.ts'
import { isReady, type Topic } from './topics.ts'

type Wanted = { readonly topic: Topic; left: number; readonly gate?: Gate }

export function claimDue(messages: Messages, request: ClaimDue, now: number): ClaimReply {
  const isMoved = messages.waiting.advance(now)
  if (messages.controls.size > 0) return claimGated(messages, request, now, isMoved)
  const wanted = request.wants.flatMap((want): Wanted[] => {
    const topic = messages.topics.named(want.topic)
    return topic === undefined ? [] : [{ topic, left: want.limit }]
  })
  const leases = takeDue(messages, wanted, request, now)
  return { leases, next: isMoved ? nextOf(messages, wanted, now) : { state: 'EXPIRED' } }
}

/** The same where something is paused or has a limit. */
function claimGated(messages: Messages, request: ClaimDue, now: number, isMoved: boolean): ClaimReply {
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
  const next = isMoved ? nextOf(messages, wanted, now) : ({ state: 'EXPIRED' } as const)
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
  for (const priority of PRIORITIES.keys()) {
    for (const want of wanted) {
      const line = want.topic.lines[priority]
      if (line === undefined) continue
      while (want.left > 0 && leases.length < request.limit && want.gate?.left !== 0) {
        const slot = line.first()
        if (slot === undefined) break
        bytes += messages.table.body(slot).length
        if (bytes > request.bytesMax && leases.length > 0) return leases
        line.pop()
        want.left -= 1
        want.gate?.take(1)
        leases.push(messages.lease(slot, now, request))
      }
    }
  }
  return leases
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
