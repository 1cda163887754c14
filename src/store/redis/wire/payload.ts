/**
 * What the client makes of a message and the server keeps as it is:
 *
 *   payload   [~ stamp (9)]  producedAt (7 digits)  priority  topic  [\v key]  line feed  body
 *             [~ stamp (9)]  producedAt (7 digits)  priority  topic  [\v key]  tab  length of meta  ':'  meta  body
 *
 *   PhZ3k9a1order.close⏎{"orderId":42}
 *
 * The server puts mark and stamp before it where an id does not sort by itself (`scripts/parts/order.lua`), and else reads
 * it only for verbs that know nothing but an id. No topic and no key has a control character.
 */
import { digitsOf, numberOf } from '../../../core/encoding/digits.ts'
import type { PriorityRank } from '../../../core/message.ts'
import { KEY_MARK, markedTopic, type LinePlace } from '../scripts/keys.ts'

const [MARK, LINE_FEED, TAB, BEFORE_KEY] = [126, 10, 9, 11]
const STAMP_LENGTH = 10
const PRODUCED_LENGTH = 7
const HEAD_LENGTH = PRODUCED_LENGTH + 1

/** A policy that cannot be read: the worker that runs the message makes a dead letter of it, and of no other that came with it. */
const UNREADABLE = 'unreadable'

export type Content = { readonly meta: string; readonly body: string }
export type KeyedContent = Content & { readonly key?: string }
export type Payload = KeyedContent & {
  readonly topic: string
  readonly priority: PriorityRank
  readonly producedAt: number
}

export function encodeProducedAt(at: number): string {
  return digitsOf(Math.max(0, Math.floor(at)), PRODUCED_LENGTH)
}

/** `head`: what all messages of one topic, key, priority and moment of production begin with. */
export function payloadHead(producedAt: string, { priority, topic, key }: LinePlace): string {
  return `${producedAt}${priority}${markedTopic(topic, key)}`
}

export function encodePayload(head: string, { meta, body }: Content): string {
  return meta === '' ? `${head}\n${body}` : `${head}\t${meta.length}:${meta}${body}`
}

/** Each behind a line feed, which no tag has. */
export function encodeTags(tags: readonly string[]): string {
  return tags.map((tag) => `\n${tag}`).join('')
}

/** `extras`: marks, and then the tags as above. */
export function decodeTags(extras: string): readonly string[] {
  return extras.split('\n').slice(1)
}

/** Where the topic is known, it need not be read. */
export function decodeContent(text: string, topic: string): KeyedContent {
  return keyedContentAt(text, startOf(text) + HEAD_LENGTH + topic.length)
}

export function decodePayload(text: string): Payload {
  const start = startOf(text)
  const topicAt = start + HEAD_LENGTH
  const end = text.slice(topicAt).search(/[\n\t]/)
  const [topic = ''] = text.slice(topicAt, topicAt + Math.max(0, end)).split(KEY_MARK)
  const priority = Number(text[topicAt - 1])
  const isRank = priority === 0 || priority === 1 || priority === 2
  if (end < 0 || !isRank)
    return { topic: '', priority: 1, producedAt: 0, meta: UNREADABLE, body: text.slice(start) }
  return {
    topic,
    priority,
    producedAt: numberOf(text.slice(start, start + PRODUCED_LENGTH)),
    ...keyedContentAt(text, topicAt + topic.length),
  }
}

function startOf(text: string): number {
  return text.charCodeAt(0) === MARK ? STAMP_LENGTH : 0
}

/** `at`: where the topic ends. */
function keyedContentAt(text: string, at: number): KeyedContent {
  if (text.charCodeAt(at) !== BEFORE_KEY) return contentAt(text, at)
  const length = text.slice(at).search(/[\n\t]/)
  if (length < 0) return contentAt(text, at)
  return { key: text.slice(at + 1, at + length), ...contentAt(text, at + length) }
}

/** `at`: the place of the separator. */
function contentAt(text: string, at: number): Content {
  const separator = text.charCodeAt(at)
  if (separator === LINE_FEED) return { meta: '', body: text.slice(at + 1) }
  const colon = text.indexOf(':', at)
  const bodyAt = colon + 1 + Number(text.slice(at + 1, colon))
  if (separator !== TAB || colon < 0 || !(bodyAt <= text.length))
    return { meta: UNREADABLE, body: text.slice(at) }
  return { meta: text.slice(colon + 1, bodyAt), body: text.slice(bodyAt) }
}
