/** What an entry counts towards `batchBytesMax`: UTF-16 units of its texts, which cost nothing to count. */
import { assertNever } from '../../core/errors.ts'
import type { NewMessage, Settlement } from './runtime.ts'

export function sizeOfMessage({ id, topic, body, meta, tags }: NewMessage): number {
  const size = id.length + topic.length + body.length + meta.length
  return tags === undefined ? size : tags.reduce((sum, tag) => sum + tag.length, size)
}

export function sizeOfSettlement(settlement: Settlement): number {
  switch (settlement.kind) {
    case 'retry':
    case 'lapse':
      return settlement.error.length
    case 'dead':
      return settlement.error.length + settlement.reason.length
    case 'ack':
      return settlement.remember?.result.length ?? 0
    case 'release':
      return 0
    default:
      return assertNever(settlement)
  }
}
