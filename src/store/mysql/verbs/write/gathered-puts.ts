/**
 * Puts that come while another is under way, as one: a session does one thing at a time, and each commit waits for the disk.
 *
 *   put(a) ──► server … committed
 *        put(b), put(c) ─────────┴──► server (b and c) … committed
 */
import type { QueuePlace } from '../../sql/clock.ts'
import { cutBatches, type BatchLimits } from '../../../../core/gathering.ts'
import { sizeOfMessage } from '../../../contract/sizes.ts'
import type { NewMessage, PutResult } from '../../../contract/store.ts'
import type { Ring } from '../../../sql/wakeups/bell.ts'
import type { Transactions } from '../../transactions.ts'
import { isPlain, putPlain } from './putting.ts'

export type GatheredPutsOptions = {
  readonly calls: Transactions
  readonly where: () => Promise<QueuePlace>
  readonly wrote: (ring: Ring | undefined) => void
  readonly entriesMax: number
  readonly bytesMax: number
}

type WaitingPut = {
  readonly messages: readonly NewMessage[]
  readonly resolve: (results: PutResult[] | undefined) => void
  readonly reject: (error: unknown) => void
}

export class GatheredPuts {
  readonly #options: GatheredPutsOptions
  readonly #limits: BatchLimits<WaitingPut>
  #waiting: WaitingPut[] = []
  #isUnderWay = false

  constructor(options: GatheredPutsOptions) {
    this.#options = options
    const { entriesMax, bytesMax } = options
    this.#limits = { entriesMax, bytesMax, sizeOf: sizeOfPut, entriesOf: ({ messages }) => messages.length }
  }

  /** Undefined: not for these, or an id is taken; nothing was done. */
  async put(messages: readonly NewMessage[]): Promise<PutResult[] | undefined> {
    if (!isPlain(messages)) return undefined
    return new Promise((resolve, reject) => {
      this.#waiting.push({ messages, resolve, reject })
      if (!this.#isUnderWay) void this.#sendAll()
    })
  }

  async #sendAll(): Promise<void> {
    this.#isUnderWay = true
    while (this.#waiting.length > 0) {
      const [batch = [], ...rest] = cutBatches(this.#waiting, this.#limits)
      this.#waiting = rest.flat()
      await this.#send(batch)
    }
    this.#isUnderWay = false
  }

  async #send(batch: readonly WaitingPut[]): Promise<void> {
    try {
      const all = batch.flatMap(({ messages }) => messages)
      const results = batch.length > 1 && isPlain(all) ? await this.#write(all) : undefined
      for (const { messages, resolve } of batch)
        resolve(results === undefined ? await this.#write(messages) : results.splice(0, messages.length))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  async #write(messages: readonly NewMessage[]): Promise<PutResult[] | undefined> {
    const { calls, where, wrote } = this.#options
    const place = await where()
    const written = await calls.run((steps) => putPlain(steps, place, messages))
    if (written !== undefined) wrote(written.ring)
    return written?.answers
  }
}

function sizeOfPut({ messages }: WaitingPut): number {
  return messages.reduce((sum, message) => sum + sizeOfMessage(message), 0)
}
