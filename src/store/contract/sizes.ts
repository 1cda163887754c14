/**
 * What an entry counts towards `batchBytesMax`, in UTF-16 units of its texts, which cost nothing to count, and towards
 * `batchMax`.
 */
import { assertNever } from '../../core/errors.ts'
import type { RestoredMessage } from './operators.ts'
import type { FollowUps, NewMessage, Settlement } from './runtime.ts'

/** The most messages that one settlement carries. */
export const FOLLOW_UPS_MAX = 100

/** The messages of one key are counted no further. */
export const KEY_COUNT_MAX = 1_000

export function sizeOfMessage(message: NewMessage): number {
  return sizeOfTexts(message)
}

function sizeOfTexts({
  id,
  topic,
  body,
  meta,
  tags,
  key = '',
}: Pick<NewMessage, 'id' | 'topic' | 'body' | 'meta' | 'tags' | 'key'>): number {
  const size = id.length + topic.length + body.length + meta.length + key.length
  return tags === undefined ? size : tags.reduce((sum, tag) => sum + tag.length, size)
}

export function sizeOfRestored({ error, reason, result = '', ...message }: RestoredMessage): number {
  return sizeOfTexts(message) + error.length + reason.length + result.length
}

export function sizeOfSettlement(settlement: Settlement): number {
  switch (settlement.kind) {
    case 'retry':
    case 'lapse':
      return settlement.error.length
    case 'dead':
      return settlement.error.length + settlement.reason.length
    case 'ack':
      return sizeOfFollowUps(settlement) + (settlement.remember?.result.length ?? 0)
    case 'again':
      return sizeOfFollowUps(settlement) + sizeOfContent(settlement.content)
    case 'release':
      return 0
    default:
      return assertNever(settlement)
  }
}

/** A settlement and the messages that it carries. One that counts more than `batchMax` passes alone. */
export function entriesOfSettlement(settlement: Settlement): number {
  return 1 + followUpsOf(settlement).length
}

export function followUpsOf(settlement: Settlement): readonly NewMessage[] {
  return 'followUps' in settlement ? (settlement.followUps ?? NO_MESSAGES) : NO_MESSAGES
}

const NO_MESSAGES: readonly NewMessage[] = []

function sizeOfFollowUps({ followUps }: FollowUps): number {
  return followUps === undefined ? 0 : followUps.reduce((sum, message) => sum + sizeOfMessage(message), 0)
}

function sizeOfContent(content: { readonly body: string; readonly meta: string } | undefined): number {
  return content === undefined ? 0 : content.body.length + content.meta.length
}
