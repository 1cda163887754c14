/**
 * What the client keeps of a message behind the numbers that the server puts before it:
 *
 *   payload   seq (8 digits)  topic (8 digits)  tail
 *   tail      priority  length of meta, if any  ':'  meta  body          1:{"orderId":42}
 *
 * The scripts read only the first character of the tail. Everything else is opaque to the server, so that nothing is
 * decoded or encoded there.
 */
import type { PriorityRank } from '../../../core/message.ts'

const TAIL_AT = 16
/** Seq, topic and priority: the beginning of every payload. */
export const STAMP_LENGTH = TAIL_AT + 1

/** A policy that is none: whoever runs the message makes a dead letter of it, and of no other that came with it. */
const UNREADABLE = 'unreadable'

export type Tail = { readonly priority: PriorityRank; readonly meta: string; readonly body: string }

export function encodeTail({ priority, meta, body }: Tail): string {
  return meta === '' ? `${priority}:${body}` : `${priority}${meta.length}:${meta}${body}`
}

export function decodeTail(text: string, at = 0): Tail {
  const priority = Number(text[at])
  const isRank = priority === 0 || priority === 1 || priority === 2
  if (isRank && text[at + 1] === ':') return { priority, meta: '', body: text.slice(at + 2) }
  const colon = text.indexOf(':', at)
  const bodyAt = colon + 1 + Number(text.slice(at + 1, colon))
  if (!isRank || colon < at || !(bodyAt <= text.length))
    return { priority: 1, meta: UNREADABLE, body: text.slice(at) }
  return { priority, meta: text.slice(colon + 1, bodyAt), body: text.slice(bodyAt) }
}

export function decodePayload(payload: string): Tail {
  return decodeTail(payload, TAIL_AT)
}
