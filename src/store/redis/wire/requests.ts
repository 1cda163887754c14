/** The contract's requests as the scripts want them: flat lists of texts, as each script's header says. */
import { assertNever } from '../../../core/errors.ts'
import type { ClaimDue, LeaseRef, Move, NewMessage, Settlement, DueTime } from '../../contract/store.ts'
import { encodeTail } from './payload.ts'
import { claimOf, stampOf } from './tokens.ts'

export function putArgs(messages: readonly NewMessage[]): string[] {
  const topics = new Map<string, string>()
  for (const { topic } of messages) if (!topics.has(topic)) topics.set(topic, String(topics.size + 1))
  const args = [String(topics.size), ...topics.keys(), String(messages.length)]
  let [topic, ifExists, moment, countAt, count] = ['', '', '', 0, 0]
  for (const message of messages) {
    const [itsTopic, itsMoment] = [topics.get(message.topic) as string, momentArg(message.when)]
    if (itsTopic !== topic || message.ifExists !== ifExists || itsMoment !== moment) {
      ;[topic, ifExists, moment, countAt, count] = [itsTopic, message.ifExists, itsMoment, args.length + 3, 0]
      args.push(topic, ifExists, moment, '')
    }
    args.push(message.id, encodeTail(message))
    count += 1
    args[countAt] = String(count)
  }
  return args
}

export function rescheduleArgs(moves: readonly Move[]): string[] {
  return moves.flatMap(({ id, when }) => [id, momentArg(when)])
}

export type ClaimIdentity = { readonly nonce: string; readonly publisher: string }

export function claimDueArgs(
  request: ClaimDue,
  limit: number,
  { nonce, publisher }: ClaimIdentity,
): string[] {
  const args = [String(limit), String(request.leaseMs), String(request.leadMs), nonce, publisher]
  for (const { topic, limit: topicLimit } of request.wants) args.push(topic, String(topicLimit))
  return args
}

export function settleArgs(settlements: readonly Settlement[]): string[] {
  const args: string[] = []
  let [claim, countAt, count] = ['', 0, 0]
  for (const settlement of settlements) {
    const itsClaim = claimOf(settlement.token)
    if (settlement.kind !== 'ack') {
      args.push(
        settlement.kind === 'lapse' ? 'retry' : settlement.kind,
        itsClaim,
        settlement.id,
        ...operands(settlement),
      )
      countAt = 0
      continue
    }
    if (itsClaim !== claim || countAt === 0) {
      ;[claim, countAt, count] = [itsClaim, args.length + 2, 0]
      args.push('ack', claim, '')
    }
    args.push(settlement.id)
    count += 1
    args[countAt] = String(count)
  }
  return args
}

function operands(settlement: Exclude<Settlement, { kind: 'ack' }>): string[] {
  switch (settlement.kind) {
    case 'release':
      return [stampOf(settlement.token)]
    case 'retry':
      return [stampOf(settlement.token), String(settlement.delayMs), settlement.error]
    case 'lapse':
      return [stampOf(settlement.token), '0', settlement.error]
    case 'dead':
      return [settlement.reason, settlement.error]
    default:
      return assertNever(settlement)
  }
}

export function extendArgs(leases: readonly LeaseRef[], leaseMs: number): string[] {
  const args = [String(leaseMs)]
  for (const { id, token } of leases) args.push(id, claimOf(token))
  return args
}

function momentArg(when: DueTime): string {
  return 'at' in when ? `@${Math.ceil(when.at)}` : String(when.delayMs)
}
