/**
 * What the client keeps of a message behind the numbers that the server puts before it:
 *
 *   payload value   seq (6 bytes)  topic (6 bytes)  tail
 *   tail            priority  length of meta, if any  ':'  meta  body          1:{"orderId":42}
 *
 * The scripts read only its first character. Everything else is opaque to the server, so that nothing is decoded
 * or encoded there.
 */
import { invariant } from '../../core/errors.ts'
import type { PriorityRank } from '../../core/message.ts'

export type Tail = { readonly priority: PriorityRank; readonly meta: string; readonly body: string }

export function encodeTail({ priority, meta, body }: Tail): string {
  return meta === '' ? `${priority}:${body}` : `${priority}${meta.length}:${meta}${body}`
}

export function decodeTail(tail: string): Tail {
  const priority = Number(tail[0])
  invariant(priority === 0 || priority === 1 || priority === 2, 'a payload in Redis begins with its priority')
  const colon = tail.indexOf(':')
  const bodyAt = colon + 1 + Number(tail.slice(1, colon))
  return { priority, meta: tail.slice(colon + 1, bodyAt), body: tail.slice(bodyAt) }
}
