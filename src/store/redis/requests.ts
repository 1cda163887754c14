/** The contract's requests as the scripts want them: flat lists of texts, as each script's header says. */
import { assertNever } from '../../core/errors.ts'
import type { ClaimDue, Move, NewMessage, Settlement, When } from '../store.ts'
import { encodeTail } from './tail.ts'

export function putArgs(messages: readonly NewMessage[]): string[] {
  const topics = new Map<string, string>()
  for (const { topic } of messages) if (!topics.has(topic)) topics.set(topic, String(topics.size + 1))
  const args = [String(topics.size), ...topics.keys()]
  for (const message of messages) {
    const topic = topics.get(message.topic) as string
    args.push(message.id, topic, message.ifExists, momentArg(message.when), encodeTail(message))
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
  for (const settlement of settlements) {
    args.push(settlement.id, settlement.token, settlement.kind, ...operands(settlement))
  }
  return args
}

function operands(settlement: Settlement): string[] {
  switch (settlement.kind) {
    case 'ack':
    case 'release':
      return []
    case 'retry':
      return [String(settlement.delayMs), settlement.error]
    case 'dead':
      return [settlement.reason, settlement.error]
    default:
      return assertNever(settlement)
  }
}

function momentArg(when: When): string {
  return 'at' in when ? `@${Math.ceil(when.at)}` : String(when.delayMs)
}
