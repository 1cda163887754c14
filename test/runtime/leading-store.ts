/** Poses as an engine with a lead: keeps messages due earlier by `leadMs`, and says so when it hands them out. */
import { FaultyStore, type VirtualClock } from '../../src/testing/index.ts'
import type {
  ClaimReply,
  ClaimRequest,
  NewMessage,
  PutResult,
  Store,
} from '../../src/store/contract/store.ts'

export class LeadingStore extends FaultyStore {
  readonly #leadMs: number

  constructor(store: Store, clock: VirtualClock, leadMs: number) {
    super(store, clock, { leadMs, wakes: 'hint', shared: true })
    this.#leadMs = leadMs
  }

  override put(messages: readonly NewMessage[]): Promise<PutResult[]> {
    return super.put(
      messages.map((message) => {
        if ('at' in message.when) return message
        return { ...message, when: { delayMs: message.when.delayMs - this.#leadMs } }
      }),
    )
  }

  override async claim(request: ClaimRequest): Promise<ClaimReply> {
    const { leases, next } = await super.claim(request)
    const leadMs = this.#leadMs
    return {
      next,
      leases: leases.map((lease) => ({
        ...lease,
        dueAt: lease.dueAt + leadMs,
        latenessMs: lease.latenessMs - leadMs,
      })),
    }
  }
}
