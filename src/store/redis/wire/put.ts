/** A put as its script wants it: runs of messages that share line, moment and `ifExists`, then ids and payloads, then tags. */
import type { DueTime, NewMessage, PutResult } from '../../contract/store.ts'
import type { ScriptCall } from '../scripts/calls.ts'
import type { QueueKeys } from '../scripts/keys.ts'
import { encodePayload, encodeProducedAt, encodeTags, payloadHead } from './payload.ts'

/** What `core/encoding/id` makes; an id of a user's own may look the same. */
const GENERATED_ID = /^[-\w]{16}$/

/** `now`: the store's, as far as it is known here. One list is filled in place: it has several texts for each message. */
export function putCall(keys: QueueKeys, messages: readonly NewMessage[], now: number): ScriptCall {
  const args = ['', '', '', '']
  const { lines, isAnyReplaced } = pushRuns(args, keys, messages)
  const runs = (args.length - HEAD_ARGS) / RUN_ARGS
  const generated = generatedCount(messages)
  const isNew = !isAnyReplaced && (generated === messages.length || !hasDoubles(messages))
  pushPayloads(args, messages, encodeProducedAt(now))
  const tagsFrom = args.length
  pushTags(args, messages)
  args[0] = String(generated)
  args[1] = isNew ? 'new' : 'each'
  args[2] = String(runs)
  args[3] = String((args.length - tagsFrom) / TAG_ARGS)
  return { keys: lines, args }
}

const [HEAD_ARGS, RUN_ARGS, TAG_ARGS] = [4, 4, 2]

/** Where its line stands among the keys, what to do if it exists, when, and for how many messages that holds. */
function pushRuns(
  args: string[],
  keys: QueueKeys,
  messages: readonly NewMessage[],
): { readonly lines: string[]; readonly isAnyReplaced: boolean } {
  const places = new Map<string, string>()
  const lines: string[] = []
  let isAnyReplaced = false
  let before: NewMessage | undefined
  let [moment, ifExists, count] = ['', '', 0]
  for (const message of messages) {
    const itsMoment = message.when === before?.when ? moment : momentArg(message.when)
    const itsIfExists = ifExistsArg(message)
    const isSameLine = before !== undefined && sharesLine(message, before)
    before = message
    if (isSameLine && itsMoment === moment && itsIfExists === ifExists) {
      count += 1
      continue
    }
    if (count > 0) args.push(String(count))
    moment = itsMoment
    ifExists = itsIfExists
    count = 1
    isAnyReplaced ||= ifExists !== 'keep'
    const line = keys.line(message)
    let place = places.get(line)
    if (place === undefined) {
      place = String(keys.all.length + lines.push(line))
      places.set(line, place)
    }
    args.push(place, ifExists, moment)
  }
  args.push(String(count))
  return { lines, isAnyReplaced }
}

function pushPayloads(args: string[], messages: readonly NewMessage[], producedAt: string): void {
  let before: NewMessage | undefined
  let head = ''
  for (const message of messages) {
    if (before === undefined || !sharesLine(message, before)) head = payloadHead(producedAt, message)
    before = message
    args.push(message.id, encodePayload(head, message))
  }
}

function sharesLine(message: NewMessage, other: NewMessage): boolean {
  return message.topic === other.topic && message.priority === other.priority && message.key === other.key
}

/** Each behind the place of its message. */
function pushTags(args: string[], messages: readonly NewMessage[]): void {
  messages.forEach(({ tags }, index) => {
    if (tags !== undefined && tags.length > 0) args.push(String(index + 1), encodeTags(tags))
  })
}

/** How many at the beginning have ids that `core/encoding/id` could have made one after the other. */
function generatedCount(messages: readonly NewMessage[]): number {
  let last = ''
  let count = 0
  for (const { id } of messages) {
    if (id <= last || !GENERATED_ID.test(id)) break
    last = id
    count += 1
  }
  return count
}

function hasDoubles(messages: readonly NewMessage[]): boolean {
  return new Set(messages.map(({ id }) => id)).size < messages.length
}

/** A seizure may name the body that it expects, a replacement how long replacing can postpone. */
export function ifExistsArg({ ifExists, ifBody, latestMs }: NewMessage): string {
  if (ifExists === 'replace' && latestMs !== undefined) return `replace=${latestMs}`
  return ifBody === undefined ? ifExists : `${ifExists}=${ifBody}`
}

export function momentArg(when: DueTime): string {
  return 'at' in when ? `@${Math.ceil(when.at)}` : String(when.delayMs)
}

export type PutReply = { readonly now: number; readonly results: PutResult[] }

/** `stored`, but for those that the reply names by their place. */
export function putReply(count: number, reply: readonly unknown[]): PutReply {
  const results = Array.from({ length: count }, (): PutResult => 'stored')
  for (let at = 1; at < reply.length; at += 2) results[(reply[at] as number) - 1] = reply[at + 1] as PutResult
  return { now: Number(reply[0]), results }
}
