/** What an engine author hands to the conformance suite, and the small vocabulary its tests are written in. */
import assert from 'node:assert/strict'
import type { ShownState } from '../../core/message.ts'
import type {
  ClaimDue,
  ClaimReply,
  DueTime,
  Lease,
  LeaseRef,
  NewMessage,
  Settlement,
  Store,
  StoredMessage,
  Want,
} from '../../store/contract/store.ts'

export type ConformanceSubject = {
  readonly store: Store
  /** Moves the store's clock forward. The store must see no other time. */
  readonly advance: (ms: number) => Promise<void>
  /** For shared engines: another handle on the same queue, as a second process would have. */
  readonly another?: () => Promise<Store>
  /** No wake-up reaches a store behind it, which calls its sleepers now and then instead. */
  readonly isDeaf?: boolean
  /** Ends everything that `open` began. */
  readonly close: () => Promise<void>
}

/** Opens a store on an empty queue of its own; called once per test. */
export type OpenSubject = () => Promise<ConformanceSubject>

export const LEASE_MS = 30_000
export const TOPIC = 'order.close'
/** Who claims what is due, and who takes over, unless a case says otherwise. */
export const WORKER = 'test'
export const REAPER = 'reaper'

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

/** A claim in which only what the case is about is said. */
export function claim(
  store: Store,
  { topics = [TOPIC], ...fields }: Partial<ClaimDue> & { readonly topics?: readonly string[] },
): Promise<ClaimReply> {
  const limit = fields.limit ?? 100
  const wants: readonly Want[] = topics.map((topic) => ({ topic, limit }))
  const usual = { owner: WORKER, wants, limit, bytesMax: 2 ** 30, leaseMs: LEASE_MS, leadMs: 0 }
  return store.claim({ from: 'due', ...usual, ...fields })
}

export async function claimDue(
  store: Store,
  limit = 100,
  topics: readonly string[] = [TOPIC],
): Promise<readonly Lease[]> {
  return (await claim(store, { limit, topics })).leases
}

export function claimReply(
  store: Store,
  limit = 100,
  topics: readonly string[] = [TOPIC],
): Promise<ClaimReply> {
  return claim(store, { limit, topics })
}

export async function claimLapsed(store: Store, limit = 100, owner = REAPER): Promise<readonly Lease[]> {
  return (await lapsedReply(store, owner, limit)).leases
}

export function lapsedReply(store: Store, owner = REAPER, limit = 100): Promise<ClaimReply> {
  return store.claim({ from: 'lapsed', owner, limit, leaseMs: LEASE_MS })
}

export async function claimOne(store: Store, topics?: readonly string[]): Promise<Lease> {
  const [lease, ...others] = await claimDue(store, 1, topics)
  assert.ok(lease !== undefined, 'a due message should be handed out')
  assert.equal(others.length, 0, 'the limit is 1')
  return lease
}

export function only<T>(items: readonly T[]): T {
  const [item, ...others] = items
  assert.ok(item !== undefined, 'there should be one')
  assert.equal(others.length, 0, 'there should be only one')
  return item
}

export function ack({ id, token, topic }: LeaseRef): Settlement {
  return { kind: 'ack', id, token, topic }
}

export function ackThen({ id, token, topic }: LeaseRef, followUps: readonly NewMessage[]): Settlement {
  return { kind: 'ack', id, token, topic, followUps }
}

/** What `again` may say besides when. */
export type AgainParts = Pick<Extract<Settlement, { kind: 'again' }>, 'followUps' | 'content' | 'keepsLapses'>

export function again({ id, token, topic }: LeaseRef, when: DueTime, parts: AgainParts = {}): Settlement {
  return { kind: 'again', id, token, topic, when, ...parts }
}

export function retry({ id, token, topic }: LeaseRef, delayMs: number, error = 'boom'): Settlement {
  return { kind: 'retry', id, token, topic, delayMs, error }
}

export function lapse({ id, token, topic }: LeaseRef, error = 'lapsed'): Settlement {
  return { kind: 'lapse', id, token, topic, error }
}

export function release({ id, token, topic }: LeaseRef): Settlement {
  return { kind: 'release', id, token, topic }
}

export function dead({ id, token, topic }: LeaseRef, reason = 'failed', error = 'boom'): Settlement {
  return { kind: 'dead', id, token, topic, reason, error }
}

export async function find(store: Store, id: string): Promise<StoredMessage | undefined> {
  return (await store.inspect({ ids: [id] })).items[0]
}

export async function stored(store: Store, id: string): Promise<StoredMessage> {
  const found = await find(store, id)
  assert.ok(found !== undefined, `"${id}" should be there`)
  return found
}

export async function placeOf(store: Store, id: string): Promise<ShownState | 'gone'> {
  return (await find(store, id))?.state ?? 'gone'
}

export function idsOf(messages: readonly { readonly id: string }[]): string[] {
  return messages.map(({ id }) => id)
}
