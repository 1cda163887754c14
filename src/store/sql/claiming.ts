/**
 * Claims of what is due. Where nothing is paused or limited a claim is one call; a queue that has controls says so, and is
 * then asked for them first. Under controls a claim is good only for those that were read, else it begins again.
 */
import type { ClaimDue, ClaimReply } from '../contract/store.ts'
import { GatedClaim, type GateRow } from './gating.ts'

export type DueClaims<Row extends GateRow> = {
  /** Undefined: the queue has pauses or limits. */
  readonly free: () => Promise<ClaimReply | undefined>
  readonly readGate: () => Promise<Row>
  /** Undefined: the controls have changed since they were read. */
  readonly gated: (row: Row, gated: GatedClaim) => Promise<ClaimReply | undefined>
}

export class DueClaiming {
  /** The queue has pauses or limits, as far as we know. */
  #isControlled = false

  async claim<Row extends GateRow>(request: ClaimDue, claims: DueClaims<Row>): Promise<ClaimReply> {
    for (;;) {
      const reply = this.#isControlled ? await this.#gated(request, claims) : await claims.free()
      if (reply !== undefined) return reply
      this.#isControlled = true
    }
  }

  async #gated<Row extends GateRow>(
    request: ClaimDue,
    claims: DueClaims<Row>,
  ): Promise<ClaimReply | undefined> {
    const row = await claims.readGate()
    if (row.revision !== null && row.names !== null) return claims.gated(row, new GatedClaim(row, request))
    this.#isControlled = false
    return claims.free()
  }
}

/** Says which of its topics have keys, unless these are limited. */
export function withKeyed(reply: ClaimReply, keyed: readonly string[] | null | undefined): ClaimReply {
  const open = (keyed ?? []).filter((topic) => reply.limited?.includes(topic) !== true)
  return open.length === 0 ? reply : { ...reply, keyed: open }
}
