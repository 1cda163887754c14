/** A put as its script wants it: runs of messages that share line, moment and `ifExists`, then ids and payloads, then tags. */
import type { DueTime, NewMessage, PutResult } from '../../contract/store.ts'
import type { ScriptCall } from '../scripts/calls.ts'
import type { QueueKeys } from '../scripts/keys.ts'
import { encodePayload, encodeProducedAt, encodeTags, payloadHead } from './payload.ts'

/** What `core/encoding/id` makes; an id of a user's own may look the same. */
const GENERATED_ID = /^[-\w]{16}$/

/** `now`: the store's, as far as it is known here. */
export function putCall(keys: QueueKeys, messages: readonly NewMessage[], now: number): ScriptCall {
  const lines = new Map<string, string>()
  const lineKeys: string[] = []
  const runs: string[] = []
  const pairs: string[] = []
  const tagged: string[] = []
  const producedAt = encodeProducedAt(now)
  let [head, topic, priority, ifExists, moment, count] = ['', '', -1, '', '', 0]
  let isAnyReplaced = false
  let when: DueTime | undefined
  for (const [index, message] of messages.entries()) {
    const itsMoment = message.when === when ? moment : momentArg(message.when)
    ;({ when } = message)
    if (message.topic !== topic || message.priority !== priority) {
      if (count > 0) runs.push(String(count))
      ;({ topic, priority } = message)
      count = 0
      head = payloadHead(producedAt, message.priority, topic)
    }
    const itsIfExists = ifExistsArg(message)
    if (count === 0 || itsMoment !== moment || itsIfExists !== ifExists) {
      if (count > 0) runs.push(String(count))
      ;[moment, ifExists, count] = [itsMoment, itsIfExists, 0]
      isAnyReplaced ||= ifExists !== 'keep'
      const line = keys.line(message.topic, message.priority)
      let place = lines.get(line)
      if (place === undefined) {
        place = String(keys.all.length + lineKeys.push(line))
        lines.set(line, place)
      }
      runs.push(place, ifExists, moment)
    }
    pairs.push(message.id, encodePayload(head, message))
    if (message.tags !== undefined && message.tags.length > 0)
      tagged.push(String(index + 1), encodeTags(message.tags))
    count += 1
  }
  runs.push(String(count))
  const generated = generatedCount(messages)
  const isNew = !isAnyReplaced && (generated === messages.length || !hasDoubles(messages))
  const mode = isNew ? 'new' : 'each'
  const counts = [runs.length / 4, tagged.length / 2].map(String)
  return { keys: lineKeys, args: [String(generated), mode, ...counts, ...runs, ...pairs, ...tagged] }
}

/** How many at the beginning have ids that `core/encoding/id` could have made one after the other. */
function generatedCount(messages: readonly NewMessage[]): number {
  let last = ''
  for (const [count, { id }] of messages.entries()) {
    if (id <= last || !GENERATED_ID.test(id)) return count
    last = id
  }
  return messages.length
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
