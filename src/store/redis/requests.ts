/** The contract's requests as the scripts want them: flat lists of texts, as each script's header says. */
import { assertNever } from '../../core/errors.ts'
import type { ClaimDue, Move, NewMessage, Settlement, When } from '../store.ts'
import { encodeTail } from './tail.ts'

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
  let [token, countAt, count] = ['', 0, 0]
  for (const settlement of settlements) {
    if (settlement.kind !== 'ack') {
      args.push(settlement.kind, settlement.token, settlement.id, ...operands(settlement))
      token = ''
      continue
    }
    if (settlement.token !== token) {
      ;[token, countAt, count] = [settlement.token, args.length + 2, 0]
      args.push('ack', token, '')
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
