/** Claims as their scripts want them, and what they bring. */
import type { PriorityRank } from '../../../core/message.ts'
import type { ClaimDue, ClaimReply, Lease, OwnedLease, Next, SleepingAsker } from '../../contract/store.ts'
import type { ScriptCall } from '../scripts/calls.ts'
import type { QueueKeys } from '../scripts/keys.ts'
import { momentOf } from './moments.ts'
import { decodeContent } from './payload.ts'
import type { Standing } from './topic-sets.ts'

/** Up to so many topics the claim names their lines; beyond, it would rather ask which lines are due. */
const BY_NAME_MAX = 50
const PRIORITIES: readonly PriorityRank[] = [0, 1, 2]
const [GROUP_FIELDS, FACT_FIELDS, ROW_FIELDS] = [3, 4, 6]

export function claimDueCall(
  keys: QueueKeys,
  request: ClaimDue,
  token: string,
  { name, topics, topicsBefore }: Standing,
): ScriptCall {
  const { wants, limit, free = limit, leaseMs, leadMs, bytesMax, owner, facts = '', sleeper } = request
  const args = [limit, leaseMs, leadMs, bytesMax, owner, facts].map(String)
  if (sleeper === undefined) args.push('', '', '', '')
  else args.push(name, sleepOf(sleeper), topics, topicsBefore)
  let frees = String(free)
  for (const want of wants) frees += ` ${want.free ?? want.limit}`
  args.push(String(wants.length), frees)
  for (const want of wants) args.push(String(want.limit))
  const places = [keys.claim(token)]
  if (wants.length > BY_NAME_MAX) for (const { topic } of wants) args.push(topic)
  else
    for (const priority of PRIORITIES)
      for (const { topic } of wants) places.push(keys.line({ topic, priority }))
  if (sleeper !== undefined) args.push(...sleeper.busy)
  return { keys: places, args }
}

/** The fallback, and where the asker says so, its longest sleep. */
function sleepOf({ fallbackMs, lookMsMax }: SleepingAsker): string {
  return lookMsMax === undefined ? String(fallbackMs) : `${fallbackMs} ${Math.ceil(lookMsMax)}`
}

export type Claimed = ClaimReply & { readonly orphans: number; readonly now: number }

type DueParts = [
  now: string,
  next: string,
  orphans: number,
  groups: readonly number[],
  ids: readonly string[],
  payloads: readonly string[],
  dues: readonly (number | string)[],
  facts: readonly number[],
  limited: readonly number[],
  look: string,
  lapse: string,
  keyed?: readonly number[],
]

export function dueReply(reply: readonly unknown[], { wants }: ClaimDue, token: string): Claimed {
  const [
    nowText,
    nextText,
    orphans,
    groups,
    ids,
    payloads,
    dues,
    facts,
    limitedWants,
    look,
    lapse,
    keyedWants = [],
  ] = reply as unknown as DueParts
  const now = Number(nowText)
  const leases: Lease[] = []
  let [dueAt, dueFrom, factAt] = [0, 0, 0]
  for (let at = 0; at < groups.length; at += GROUP_FIELDS) {
    const [number = 0, first = 0, duesEnd = 0] = groups.slice(at, at + GROUP_FIELDS)
    const end = groups[at + GROUP_FIELDS + 1] ?? ids.length
    const topic = wants[number % wants.length]?.topic ?? ''
    const priority = Math.floor(number / wants.length) as PriorityRank
    for (let place = first; place < end; place += 1) {
      if (dueFrom < duesEnd && place === dues[dueFrom]) {
        dueAt = momentOf(dues[dueFrom + 1])
        dueFrom += 2
      }
      const { meta, body, key } = decodeContent(payloads[place] as string, topic)
      let [attempt, firstDueAt, lapses] = [1, dueAt, 0]
      if (facts[factAt] === place + 1) {
        attempt = facts[factAt + 1] as number
        firstDueAt = facts[factAt + 2] || dueAt
        lapses = facts[factAt + 3] as number
        factAt += FACT_FIELDS
      }
      leases.push({
        id: ids[place] as string,
        token,
        topic,
        body,
        meta,
        ...(key === undefined ? {} : { key }),
        priority,
        dueAt,
        firstDueAt,
        attempt,
        lapses,
        latenessMs: now - dueAt,
      })
    }
  }
  const lookMs = look === '' ? {} : { lookMs: Number(look), lapseMs: lapse === '' ? Infinity : Number(lapse) }
  const claimed = { leases, next: decodeNext(nextText), ...lookMs, orphans, now }
  if (limitedWants.length === 0 && keyedWants.length === 0) return claimed
  const topicsOf = (places: readonly number[]): string[] => places.map((want) => wants[want]?.topic ?? '')
  const keyed = topicsOf(keyedWants.filter((want) => !limitedWants.includes(want)))
  return {
    ...claimed,
    ...(limitedWants.length === 0 ? {} : { limited: topicsOf(limitedWants) }),
    ...(keyed.length === 0 ? {} : { keyed }),
  }
}

type LapsedParts = [
  now: string,
  next: string,
  orphans: number,
  isOwnLapsed: number,
  lines: readonly string[],
  rows: readonly (number | string)[],
  lapses: readonly number[],
]

export function lapsedReply(keys: QueueKeys, reply: readonly unknown[], token: string): Claimed {
  const [nowText, nextText, orphans, isOwn, lines, rows, lapses] = reply as unknown as LapsedParts
  const now = Number(nowText)
  const places = lines.map((line) => keys.inLine(line))
  const leases = lapses.map((itsLapses, index): Lease => {
    const [id, payload, line, due, attempt, firstDueAt] = rows.slice(index * ROW_FIELDS) as [
      string,
      string,
      number,
      string,
      number,
      number,
    ]
    const { topic, priority } = places[line - 1] ?? { topic: '', priority: 1 }
    const dueAt = momentOf(due)
    return {
      id,
      token,
      topic,
      priority,
      ...decodeContent(payload, topic),
      dueAt,
      firstDueAt: firstDueAt || dueAt,
      attempt,
      lapses: itsLapses,
      latenessMs: now - dueAt,
    }
  })
  return {
    leases,
    next: decodeNext(nextText),
    ...(isOwn === 1 ? { isOwnLapsed: true } : {}),
    orphans,
    now,
  }
}

const TAKEN_OVER = '+'

/** `isTakenOver`: what is handed out under it was taken over from others; `ownedLeases` tells by the mark. */
export function makeToken(owner: string, unique: string, isTakenOver: boolean): string {
  return `${owner}/${isTakenOver ? TAKEN_OVER : ''}${unique}`
}

/** Rows of three: id, claim, line. */
export function ownedLeases(keys: QueueKeys, rows: readonly string[]): OwnedLease[] {
  const leases: OwnedLease[] = []
  for (let at = 0; at < rows.length; at += 3) {
    const [id = '', claim = '', line = ''] = rows.slice(at, at + 3)
    const token = keys.tokenOf(claim)
    const isTakenOver = token.startsWith(TAKEN_OVER, token.lastIndexOf('/') + 1)
    leases.push({ id, token, topic: keys.inLine(line).topic, isTakenOver })
  }
  return leases
}

function decodeNext(text: string): Next {
  if (text === 'NO_TASK' || text === 'EXPIRED') return { state: text }
  const isSharp = text.startsWith('=')
  const ms = Number(isSharp ? text.slice(1) : text)
  // A moment at infinity, as Redis writes it, never comes.
  if (!Number.isFinite(ms)) return { state: 'NO_TASK' }
  return isSharp ? { state: 'WAITING', ms, isSharp } : { state: 'WAITING', ms }
}
