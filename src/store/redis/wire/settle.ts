/** Extensions and settlements as their scripts want them: by claim, because that is what has a lease. */
import { assertNever } from '../../../core/errors.ts'
import { followUpsOf } from '../../contract/sizes.ts'
import type { ExtendResult, LeaseRef, Remember, SettleResult, Settlement } from '../../contract/store.ts'
import type { ScriptCall } from '../scripts/calls.ts'
import { SETTLE_SCRIPT, SETTLE_THEN_SCRIPT, type Script } from '../scripts/generated.ts'
import type { QueueKeys } from '../scripts/keys.ts'
import { encodePayload, encodeProducedAt, encodeTags, payloadHead } from './payload.ts'
import { ifExistsArg, momentArg } from './put.ts'
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

type RunScript = (script: Script, call: ScriptCall) => Promise<readonly unknown[]>

/** The plain script is short, and leaves messages that have a successor to the one that can store it. */
export async function settleStored(
  run: RunScript,
  keys: QueueKeys,
  settlements: readonly Settlement[],
  now: number,
  canPlace = false,
): Promise<SettleResult[]> {
  const call = settleCall(keys, settlements, { now, canPlace })
  const results = settleResults(call, await run(call.script, call))
  if (!results.includes('deferred')) return results as SettleResult[]
  const left = settlements.filter((_, index) => results[index] === 'deferred')
  const rest = (await settleStored(run, keys, left, now, true)).values()
  return results.map((result) => (result === 'deferred' ? (rest.next().value ?? 'lost') : result))
}

type SettleCall = OrderedCall & { readonly script: Script }

/**
 * Those that are done go out by claim. With others among them the order stays: the first settlement of a lease counts.
 * `now`: the store's, as far as it is known here, for messages that a settlement carries.
 */
function settleCall(
  keys: QueueKeys,
  settlements: readonly Settlement[],
  { now, canPlace }: { readonly now: number; readonly canPlace: boolean },
): SettleCall {
  const isAllDone = settlements.every((one) => wordFor(one) === 'ack')
  const order =
    isAllDone && !isByToken(settlements) ? [...byToken(settlements).values()].flat() : [...settlements.keys()]
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
  if (!canPlace && !settlements.some((one) => 'followUps' in one))
    return { script: SETTLE_SCRIPT, keys: claims, args, order }
  const carried = carriedArgs(keys, settlements, { now, keysBefore: keys.all.length + claims.length })
  return {
    script: SETTLE_THEN_SCRIPT,
    keys: [...claims, ...carried.lines],
    args: [String(settlements.length), ...carried.args, ...args],
    order,
  }
}

/** An ack that carries messages, leaves something behind, or is the handler's own word goes alone. */
function wordFor(settlement: Settlement): string {
  if (settlement.kind !== 'ack') return settlement.kind
  if (settlement.remember !== undefined) return 'remember'
  return settlement.followUps === undefined && settlement.isOwnWord !== true ? 'ack' : 'follow'
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
      const { when, id, tags = [] } = message
      const line = keys.line(message)
      const place = lines.get(line) ?? String(keysBefore + lines.size + 1)
      lines.set(line, place)
      const payload = encodePayload(payloadHead(producedAt, message), message)
      args.push(
        String(index + 1),
        place,
        ifExistsArg(message),
        momentArg(when),
        id,
        payload,
        encodeTags(tags),
      )
    }
  }
  return { lines: [...lines.keys()], args: [String(args.length / CARRIED_FIELDS), ...args] }
}

function pushOperands(args: string[], settlement: Settlement): void {
  args.push(settlement.id)
  switch (settlement.kind) {
    case 'ack':
      if (settlement.remember !== undefined) args.push(...rememberOperands(settlement, settlement.remember))
      if (wordFor(settlement) !== 'ack') args.push(settlement.isOwnWord === true ? '1' : '0')
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
      const { when, content, keepsLapses } = settlement
      const newContent = content === undefined ? '' : encodePayload('', content)
      args.push(momentArg(when), newContent, keepsLapses === true ? '1' : '0')
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

/** What a number in the reply adds to a place: see `settling.lua`. */
const CODE = 1_000_000
const WORDS = ['lost', 'succeeded', 'cancelled', 'deferred'] as const

/** `settled`, but for those that the reply names by their place. `deferred`: the script cannot store its successor. */
function settleResults({ order }: OrderedCall, reply: readonly unknown[]): (SettleResult | 'deferred')[] {
  const results = Array.from({ length: order.length }, (): SettleResult | 'deferred' => 'settled')
  for (const number of reply as readonly number[]) {
    const place = Math.abs(number) % CODE
    const word = number < 0 ? 'refused' : WORDS[Math.floor(number / CODE)]
    results[order[place - 1] as number] = word ?? 'lost'
  }
  return results
}

/** Nearly always: what was claimed together ends together. */
function isByToken(leases: readonly LeaseRef[]): boolean {
  const ended = new Set<string>()
  let token = ''
  for (const lease of leases) {
    if (lease.token === token) continue
    if (ended.has(lease.token)) return false
    ended.add(token)
    ;({ token } = lease)
  }
  return true
}

/** The places of the entries of each token, tokens in the order of their first. */
function byToken(leases: readonly LeaseRef[]): Map<string, number[]> {
  const groups = new Map<string, number[]>()
  let [token, places] = ['', [] as number[]]
  leases.forEach((lease, place) => {
    if (lease.token !== token || places.length === 0) {
      ;({ token } = lease)
      places = groups.get(token) ?? []
      groups.set(token, places)
    }
    places.push(place)
  })
  return groups
}
