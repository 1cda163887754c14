/** What a bridge tells on its way, and the line that says it. */
import { assertNever } from '../../core/errors.ts'

export type BridgeEvent =
  /** Both connections are up and everything is declared. */
  | { readonly kind: 'connected'; readonly side: BridgeSide }
  /** A connection was lost or could not be made; the bridge tries again by itself. */
  | { readonly kind: 'disconnected'; readonly side: BridgeSide; readonly error: Error }
  /** The broker takes no messages (memory or disk alarm); what is due waits. */
  | { readonly kind: 'blocked'; readonly reason: string }
  | { readonly kind: 'unblocked' }
  /** A message that the bridge cannot follow went to the refused queue. */
  | { readonly kind: 'refused'; readonly exchange: string; readonly code: string; readonly reason: string }
  /** Something else failed; the bridge goes on. */
  | { readonly kind: 'trouble'; readonly error: Error }

export type BridgeSide = 'in' | 'out'

export type Tell = (event: BridgeEvent) => void

export function bridgeLine(event: BridgeEvent): string {
  switch (event.kind) {
    case 'connected':
      return `connected (${event.side})`
    case 'disconnected':
      return `not connected (${event.side}): ${event.error.message}; trying again`
    case 'blocked':
      return `the broker takes no messages: ${event.reason}; what is due waits`
    case 'unblocked':
      return 'the broker takes messages again'
    case 'refused':
      return `a message from exchange "${event.exchange}" was refused (${event.code}): ${event.reason}`
    case 'trouble':
      return event.error.message
    default:
      return assertNever(event)
  }
}
