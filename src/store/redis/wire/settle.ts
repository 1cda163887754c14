/** Extensions and settlements as their scripts want them: by claim, because that is what has a lease. */
import { assertNever } from '../../../core/errors.ts'
import type { ExtendResult, LeaseRef, Remember, SettleResult, Settlement } from '../../contract/store.ts'
import type { ScriptCall } from '../scripts/calls.ts'
import type { QueueKeys } from '../scripts/keys.ts'
import { encodeRemembered } from './remembered.ts'

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

/** Those that are done go out by claim. With others among them the order stays: the first settlement of a lease counts. */
export function settleCall(keys: QueueKeys, settlements: readonly Settlement[]): OrderedCall {
  const isAllDone = settlements.every((settlement) => wireKind(settlement) === 'ack')
  const order = isAllDone ? [...byToken(settlements).values()].flat() : [...settlements.keys()]
  const places = new Map<string, string>()
  const claims: string[] = []
  const args: string[] = []
  let [token, kind, countAt, count] = ['', '', -1, 0]
  for (const index of order) {
    const settlement = settlements[index] as Settlement
    const itsKind = wireKind(settlement)
    if (settlement.token !== token || itsKind !== kind) {
      if (countAt >= 0) args[countAt] = String(count)
      ;[token, kind] = [settlement.token, itsKind]
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
  return { keys: claims, args, order }
}

/** An ack that leaves something behind has operands of its own. */
function wireKind(settlement: Settlement): string {
  return settlement.kind === 'ack' && settlement.remember !== undefined ? 'remember' : settlement.kind
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
