/** How the cases about keys are written. */
import type {
  ControlChange,
  KeyLimit,
  Lease,
  NewMessage,
  Store,
  TopicLimit,
} from '../../store/contract/store.ts'
import { TOPIC, claim, idsOf, message } from './stand.ts'
import { test, type ConformanceTest } from './test.ts'

/** Only for engines that have keys. The name begins with its promise. */
export function keyTest(name: string, run: ConformanceTest['run']): ConformanceTest {
  return test(name, async (subject) => {
    if (subject.store.capabilities.features.includes('keys')) await run(subject)
  })
}

export function keyed(id: string, key: string, fields: Partial<NewMessage> = {}): NewMessage {
  return message(id, { key, ...fields })
}

/** `a` with 3: a-0, a-1, a-2, of the key `a`. */
export function flood(key: string, count: number, fields: Partial<NewMessage> = {}): NewMessage[] {
  return Array.from({ length: count }, (_, i) => keyed(`${key}-${i}`, key, fields))
}

export function perKey(allowance: NonNullable<TopicLimit['perKey']> | undefined): ControlChange {
  return { kind: 'limit', topic: TOPIC, limit: allowance === undefined ? null : { perKey: allowance } }
}

export function own(key: string, limit: KeyLimit | null): ControlChange {
  return { kind: 'limit', topic: TOPIC, key, limit }
}

export async function take(store: Store, limit = 100): Promise<readonly Lease[]> {
  return (await claim(store, { limit })).leases
}

/** The ids that claims of so many bring, one claim a millisecond. */
export async function takeInTurn(
  store: Store,
  advance: (ms: number) => Promise<void>,
  sizes: readonly number[],
): Promise<string[]> {
  const ids: string[] = []
  for (const size of sizes) {
    ids.push(...idsOf(await take(store, size)))
    await advance(1)
  }
  return ids
}
