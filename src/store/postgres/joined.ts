/**
 * The verbs that may join a transaction of the user's own. They go through the user's client, one after the other, and
 * take effect with the user's commit. Everything was checked before, because an error of the server ends that transaction.
 *
 * Outside of a transaction the statement would commit by itself, so it does nothing unless one is open. One that has written
 * has a number. For one that has not, the statement leaves a setting that lasts until the transaction ends, and is sent once
 * more: where the setting is gone, there is no transaction.
 */
import type { SendStatement } from '../../core/input/transaction.ts'
import type * as contract from '../contract/store.ts'
import { admitEntries } from '../shared/admission.ts'
import { delayOf, momentOf } from '../sql/micros.ts'
import { noTransaction, replyOf } from '../sql/replies.ts'
import { completeEntry, joinedEntry } from './wire.ts'

export type JoinedOptions = {
  readonly schema: string
  readonly queue: number
  readonly channel: string
  readonly capabilities: contract.Capabilities
  /** Before a message with a key is stored. */
  readonly markKeys: (messages: readonly contract.NewMessage[]) => Promise<void>
}

const IS_OPEN = `pg_current_xact_id_if_assigned() is not null or current_setting('punctual.transaction', true) = 'open'`
/** What is answered instead of a reply, which is a list. */
const UNSURE = 'open'
const MARK_OPEN = `set_config('punctual.transaction', '${UNSURE}', true)`

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

  async isOpen(): Promise<boolean> {
    const ask = `select case when ${IS_OPEN} then '' else ${MARK_OPEN} end as reply`
    return !(await this.#isUnsure(ask)) || !(await this.#isUnsure(ask))
  }

  async put(messages: readonly contract.NewMessage[]): Promise<contract.PutResult[]> {
    await this.#options.markKeys(messages)
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
    await this.#options.markKeys(ack.followUps ?? [])
    const values = [this.#options.channel, JSON.stringify(completeEntry(ack))]
    const [answer] = await this.#send<contract.SettleResult>('joined_complete_1', values)
    return answer ?? 'lost'
  }

  async #isUnsure(ask: string): Promise<boolean> {
    return replyOf(await this.#client(ask, [])) === UNSURE
  }

  async #call<R>(name: string, first: readonly string[], entries: readonly unknown[]): Promise<R[]> {
    admitEntries(entries.length, this.#options.capabilities.batchMax)
    return entries.length === 0 ? [] : this.#send(name, [...first, JSON.stringify(entries)])
  }

  async #send<R>(name: string, values: string[]): Promise<R[]> {
    const { schema, queue } = this.#options
    const places = values.map((_, i) => `$${i + 1}::text`).join(', ')
    const call = `"${schema}".${name}(${queue}, ${places})`
    const text = `select case when ${IS_OPEN} then ${call} else ${MARK_OPEN} end as reply`
    const before = this.#last
    const sent = (async () => {
      await before.catch(() => undefined)
      const reply = replyOf(await this.#client(text, values))
      return reply === UNSURE ? replyOf(await this.#client(text, values)) : reply
    })()
    this.#last = sent
    const reply = await sent
    if (reply === UNSURE) throw noTransaction()
    return JSON.parse(reply) as R[]
  }
}
