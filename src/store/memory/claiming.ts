/**
 * Handing out: what is due, by priority and then in the order of the wants; and what lapsed, oldest first.
 *
 * Cost: O(wants + leases), and O(1) for each message that has come due since the last call.
 */
import { PRIORITIES } from '../../core/message.ts'
import type { ClaimDue, ClaimLapsed, ClaimReply, Lease } from '../contract/store.ts'
import { nextAt } from '../shared/moments.ts'
import type { Messages } from './messages.ts'
import { isReady, type Topic } from './topics.ts'

type Wanted = { readonly topic: Topic; left: number }

export function claimDue(messages: Messages, request: ClaimDue, now: number): ClaimReply {
  const { waiting, topics } = messages
  const isMoved = waiting.advance(now)
  const wanted = request.wants.flatMap((want): Wanted[] => {
    const topic = topics.named(want.topic)
    return topic === undefined ? [] : [{ topic, left: want.limit }]
  })
  const leases = takeDue(messages, wanted, request, now)
  if (!isMoved || wanted.some(({ topic }) => isReady(topic))) return { leases, next: { state: 'EXPIRED' } }
  const ofTopics = wanted.map(({ topic }) => topic)
  return { leases, next: waiting.promise(ofTopics, now) }
}

function takeDue(messages: Messages, wanted: readonly Wanted[], request: ClaimDue, now: number): Lease[] {
  const leases: Lease[] = []
  let bytes = 0
  for (const priority of PRIORITIES.keys()) {
    for (const want of wanted) {
      const line = want.topic.lines[priority]
      if (line === undefined) continue
      while (want.left > 0 && leases.length < request.limit) {
        const slot = line.first()
        if (slot === undefined) break
        bytes += messages.table.body(slot).length
        if (bytes > request.bytesMax && leases.length > 0) return leases
        line.pop()
        want.left -= 1
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
