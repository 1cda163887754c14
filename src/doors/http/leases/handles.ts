/**
 * Lease handles: what a worker elsewhere holds and hands back. Signed, because a store believes a token: with a forged one a
 * message could be moved where no worker asks for it.
 */
import type { LeaseRef } from '../../../index.ts'
import type { Signer } from '../access/signing.ts'

export function makeHandle(signer: Signer, queue: string, { id, token, topic }: LeaseRef): string {
  return signer.sign('lease', [queue, id, topic, token])
}

/** Undefined: forged, or of another queue. */
export function readHandle(signer: Signer, queue: string, handle: string): LeaseRef | undefined {
  const content = signer.read('lease', handle)
  if (!Array.isArray(content) || content.length !== 4) return undefined
  const [ofQueue, id, topic, token] = content as [string, string, string, string]
  return ofQueue === queue ? { id, topic, token } : undefined
}
