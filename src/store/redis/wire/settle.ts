/** Extensions and settlements as their scripts want them: by claim, because that is what has a lease. */
import { assertNever } from '../../../core/errors.ts'
import { followUpsOf } from '../../contract/sizes.ts'
import type { ExtendResult, LeaseRef, Remember, SettleResult, Settlement } from '../../contract/store.ts'
import type { ScriptCall } from '../scripts/calls.ts'
import { SETTLE_SCRIPT, SETTLE_THEN_SCRIPT, type Script } from '../scripts/generated.ts'
import type { QueueKeys } from '../scripts/keys.ts'
import { encodePayload, encodeProducedAt, encodeTags, payloadHead } from './payload.ts'
import { momentArg } from './put.ts'
import { encodeRemembered } from './remembered.ts'

/** What `settle_then.lua` is told of each message that a settlement carries. */
const CARRIED_FIELDS = 7

/** `order`: the place of each entry of the call among those that were given. */
export type OrderedCall = ScriptCall & { readonly order: readonly number[] }

export function extendCall(keys: QueueKeys, leases: readonly LeaseRef[], leaseMs: number): OrderedCall {
  const claims: string[] = []
  const args = [String(leaseMs)]
  const order: number[] = []
  for (const [token, places] of byToken(leases)) {
    args.push(String(keys.all.length + claims.push(keys.claim(token))), String(places.length))
    for (const place of places) {
      args.push((leases[place] as LeaseRef).id)
      order.push(place)
    }
  }
  return { keys: claims, args, order }
}

export function extendResults({ order }: OrderedCall, words: readonly unknown[]): ExtendResult[] {
  const results: ExtendResult[] = []
  for (const [index, place] of order.entries()) results[place] = words[index] as ExtendResult
  return results
}

export type SettleCall = OrderedCall & { readonly script: Script }

/**
 * Those that are done go out by claim. With others among them the order stays: the first settlement of a lease counts.
 * `now`: the store's, as far as it is known here, for messages that a settlement carries.
 */
export function settleCall(keys: QueueKeys, settlements: readonly Settlement[], now: number): SettleCall {
  const isAllDone = settlements.every((one) => wordFor(one) === 'ack')
  const order = isAllDone ? [...byToken(settlements).values()].flat() : [...settlements.keys()]
  const places = new Map<string, string>()
  const claims: string[] = []
  const args: string[] = []
  let [token, kind, countAt, count] = ['', '', -1, 0]
  for (const index of order) {
    const settlement = settlements[index] as Settlement
    const itsKind = wordFor(settlement)
    if (settlement.token !== token || itsKind !== kind) {
      if (countAt >= 0) args[countAt] = String(count)
      ;({ token } = settlement)
      kind = itsKind
      let place = places.get(token)
      if (place === undefined) {
        place = String(keys.all.length + claims.push(keys.claim(token)))
        places.set(token, place)
      }
      countAt = args.push(kind, place, '') - 1
      count = 0
      if (kind === 'ack') args.push('')
    }
    pushOperands(args, settlement)
    count += 1
  }
  if (countAt >= 0) args[countAt] = String(count)
  if (!settlements.some((one) => 'followUps' in one))
    return { script: SETTLE_SCRIPT, keys: claims, args, order }
  const carried = carriedArgs(keys, settlements, { now, keysBefore: keys.all.length + claims.length })
  return {
    script: SETTLE_THEN_SCRIPT,
    keys: [...claims, ...carried.lines],
    args: [...carried.args, ...args],
    order,
  }
}

/** An ack that carries messages, or leaves something behind, goes alone. */
function wordFor(settlement: Settlement): string {
  if (settlement.kind !== 'ack') return settlement.kind
  if (settlement.remember !== undefined) return 'remember'
  return settlement.followUps === undefined ? 'ack' : 'follow'
}

/** The messages that settlements carry, each with the place of its settlement, and their lines. */
function carriedArgs(
  keys: QueueKeys,
  settlements: readonly Settlement[],
  { now, keysBefore }: { readonly now: number; readonly keysBefore: number },
): { readonly lines: readonly string[]; readonly args: readonly string[] } {
  const lines = new Map<string, string>()
  const args: string[] = []
  const producedAt = encodeProducedAt(now)
  for (const [index, settlement] of settlements.entries()) {
    for (const message of followUpsOf(settlement)) {
      const { topic, priority, ifExists, when, id, tags = [] } = message
      const line = keys.line(topic, priority)
      const place = lines.get(line) ?? String(keysBefore + lines.size + 1)
      lines.set(line, place)
      const payload = encodePayload(payloadHead(producedAt, priority, topic), message)
      args.push(String(index + 1), place, ifExists, momentArg(when), id, payload, encodeTags(tags))
    }
  }
  return { lines: [...lines.keys()], args: [String(args.length / CARRIED_FIELDS), ...args] }
}

function pushOperands(args: string[], settlement: Settlement): void {
  args.push(settlement.id)
  switch (settlement.kind) {
    case 'ack':
      if (settlement.remember !== undefined) args.push(...rememberOperands(settlement, settlement.remember))
      return
    case 'release':
      return
    case 'lapse':
      args.push(settlement.error)
      return
    case 'retry':
      args.push(String(settlement.delayMs), settlement.isLapse === true ? '1' : '0', settlement.error)
      return
    case 'again': {
      const { content } = settlement
      args.push(momentArg(settlement.when), content === undefined ? '' : encodePayload('', content))
      return
    }
    case 'dead':
      args.push(settlement.reason, settlement.error)
      return
    default:
      assertNever(settlement)
  }
}

function rememberOperands(
  { topic }: LeaseRef,
  { ms, outcome, result }: Remember,
): [ms: string, told: string] {
  return [String(ms), encodeRemembered({ topic, outcome, result })]
}

/** `settled`, but for those that the reply names by their place: lost, and below zero refused. */
export function settleResults({ order }: OrderedCall, reply: readonly unknown[]): SettleResult[] {
  const results = Array.from({ length: order.length }, (): SettleResult => 'settled')
  for (const place of reply as readonly number[])
    results[order[Math.abs(place) - 1] as number] = place > 0 ? 'lost' : 'refused'
  return results
}

/** The places of the entries of each token, tokens in the order of their first. */
function byToken(leases: readonly LeaseRef[]): Map<string, number[]> {
  const groups = new Map<string, number[]>()
  let [token, places] = ['', [] as number[]]
  for (const [place, lease] of leases.entries()) {
    if (lease.token !== token || places.length === 0) {
      ;({ token } = lease)
      places = groups.get(token) ?? []
      groups.set(token, places)
    }
    places.push(place)
  }
  return groups
}
