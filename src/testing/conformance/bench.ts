/** What an engine author hands to the conformance suite, and the small vocabulary its tests are written in. */
import assert from 'node:assert/strict'
import type { MessageState } from '../../core/message.ts'
import type { Lease, NewMessage, Next, Settlement, Store, StoredMessage } from '../../store/contract/store.ts'

export type ConformanceSubject = {
  readonly store: Store
  /** Moves the store's clock forward. The store must see no other time. */
  readonly advance: (ms: number) => Promise<void>
  /** For shared engines: another handle on the same queue, as a second process would have. */
  readonly another?: () => Promise<Store>
  /** Ends everything that `open` began. */
  readonly close: () => Promise<void>
}

/** Opens a store on an empty queue of its own; called once per test. */
export type OpenSubject = () => Promise<ConformanceSubject>

export const LEASE_MS = 30_000
export const TOPIC = 'order.close'

export function message(id: string, fields: Partial<NewMessage> = {}): NewMessage {
  return {
    id,
    topic: TOPIC,
    body: `{"id":"${id}"}`,
    meta: '',
    priority: 1,
    when: { delayMs: 0 },
    ifExists: 'keep',
    ...fields,
  }
}

export async function claimDue(
  store: Store,
  limit = 100,
  topics: readonly string[] = [TOPIC],
): Promise<readonly Lease[]> {
  return (await claimReply(store, limit, topics)).leases
}

export async function claimReply(
  store: Store,
  limit = 100,
  topics: readonly string[] = [TOPIC],
): Promise<{ leases: readonly Lease[]; next: Next }> {
  const wants = topics.map((topic) => ({ topic, limit }))
  return store.claim({
    from: 'due',
    owner: 'test',
    bytesMax: 2 ** 30,
    wants,
    limit,
    leaseMs: LEASE_MS,
    leadMs: 0,
  })
}

export async function claimLapsed(store: Store, limit = 100): Promise<readonly Lease[]> {
  return (await store.claim({ from: 'lapsed', owner: 'reaper', limit, leaseMs: LEASE_MS })).leases
}

export async function claimOne(store: Store, topics?: readonly string[]): Promise<Lease> {
  const [lease, ...others] = await claimDue(store, 1, topics)
  assert.ok(lease !== undefined, 'a due message should be handed out')
  assert.equal(others.length, 0, 'the limit is 1')
  return lease
}

export function ack({ id, token, topic }: Lease): Settlement {
  return { kind: 'ack', id, token, topic }
}

export function retry({ id, token, topic }: Lease, delayMs: number, error = 'boom'): Settlement {
  return { kind: 'retry', id, token, topic, delayMs, error }
}

export function release({ id, token, topic }: Lease): Settlement {
  return { kind: 'release', id, token, topic }
}

export function dead({ id, token, topic }: Lease, reason = 'failed', error = 'boom'): Settlement {
  return { kind: 'dead', id, token, topic, reason, error }
}

export async function find(store: Store, id: string): Promise<StoredMessage | undefined> {
  return (await store.inspect({ ids: [id] })).items[0]
}

export async function placeOf(store: Store, id: string): Promise<MessageState | 'gone'> {
  return (await find(store, id))?.state ?? 'gone'
}

export function idsOf(messages: readonly { readonly id: string }[]): string[] {
  return messages.map(({ id }) => id)
}
