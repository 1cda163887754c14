/**
 * The verbs that may join a transaction of the user's own. They go through the user's client, one after the other, and
 * take effect with the user's commit. Everything was checked before, because an error of the server ends that transaction.
 */
import type { SendStatement } from '../../core/input/transaction.ts'
import type * as contract from '../contract/store.ts'
import { admitEntries } from '../shared/admission.ts'
import { delayOf, momentOf } from '../sql/micros.ts'
import { replyOf } from '../sql/replies.ts'
import { completeEntry, joinedEntry } from './wire.ts'

export type JoinedOptions = {
  readonly schema: string
  readonly queue: number
  readonly channel: string
  readonly capabilities: contract.Capabilities
}

export class PostgresJoined implements contract.JoinedVerbs {
  readonly capabilities: contract.Capabilities
  readonly #client: SendStatement
  readonly #options: JoinedOptions
  /** Many clients take one statement at a time. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(client: SendStatement, options: JoinedOptions) {
    this.#client = client
    this.#options = options
    this.capabilities = options.capabilities
  }

  put(messages: readonly contract.NewMessage[]): Promise<contract.PutResult[]> {
    return this.#call('joined_put_1', [this.#options.channel], messages.map(joinedEntry))
  }

  remove(ids: readonly string[]): Promise<contract.RemoveResult[]> {
    return this.#call('joined_remove_1', [], ids)
  }

  reschedule(moves: readonly contract.Move[]): Promise<contract.RescheduleResult[]> {
    const entries = moves.map(({ id, when }) => ({ id, delay: delayOf(when), moment: momentOf(when) }))
    return this.#call('joined_reschedule_1', [this.#options.channel], entries)
  }

  async complete(ack: Extract<contract.Settlement, { kind: 'ack' }>): Promise<contract.SettleResult> {
    const values = [this.#options.channel, JSON.stringify(completeEntry(ack))]
    const [answer] = await this.#send<contract.SettleResult>('joined_complete_1', values)
    return answer ?? 'lost'
  }

  async #call<R>(name: string, first: readonly string[], entries: readonly unknown[]): Promise<R[]> {
    admitEntries(entries.length, this.#options.capabilities.batchMax)
    return entries.length === 0 ? [] : this.#send(name, [...first, JSON.stringify(entries)])
  }

  async #send<R>(name: string, values: string[]): Promise<R[]> {
    const { schema, queue } = this.#options
    const places = values.map((_, i) => `$${i + 1}::text`).join(', ')
    const text = `select "${schema}".${name}(${queue}, ${places}) as reply`
    const before = this.#last
    const sent = (async () => {
      await before.catch(() => undefined)
      return replyOf(await this.#client(text, values))
    })()
    this.#last = sent
    return JSON.parse(await sent) as R[]
  }
}
