/** The keys of a topic, as people see them. */
import type { ParsedKeys } from '../../core/input/questions.ts'
import type { KeyState, Store } from '../../store/contract/store.ts'
import { presentAllowance, type FoundAllowance } from '../changing/controls.ts'

export type FoundKey = {
  readonly key: string
  /** Of its messages, delayed and ready ones; counted up to 1,000. */
  readonly waiting: number
  /** Those that count towards its limit. */
  readonly running: number
  /** When its next message may start, as far as the clock tells; epoch milliseconds. Absent: none waits, or something else comes first. */
  readonly turnAt?: number
  /** Its rate allows no start before this; epoch milliseconds. */
  readonly rateAt?: number
  /** A retry that holds it until then at least, because it runs one at a time. */
  readonly held?: { readonly id: string; readonly dueAt: number }
  /** Its own limit, as `limit` takes it. */
  readonly limit?: FoundAllowance & { readonly weight?: number }
}

export type KeyPage = {
  readonly keys: readonly FoundKey[]
  /** Present when there are more: give it to the next call. */
  readonly cursor?: string
  /** Partitions that did not answer, by name: their keys are not listed. Absent where all did. */
  readonly missing?: readonly string[]
}

export async function readKeys(store: Store, topic: string, parsed: ParsedKeys): Promise<KeyPage> {
  const most = store.capabilities.batchMax
  const asked = 'limit' in parsed ? { ...parsed, limit: Math.min(parsed.limit, most) } : parsed
  const { keys, cursor, missing } = await store.keys({ topic, ...asked })
  return {
    keys: keys.map(presentKey),
    ...(cursor === undefined ? {} : { cursor }),
    ...(missing === undefined ? {} : { missing }),
  }
}

/** One key. */
export async function readKey(store: Store, topic: string, key: string): Promise<KeyState | undefined> {
  if (!store.capabilities.features.includes('keys')) return undefined
  return (await store.keys({ topic, keys: [key] })).keys[0]
}

function presentKey({ limit, ...state }: KeyState): FoundKey {
  if (limit === undefined) return state
  const { weight, ...allowance } = limit
  return { ...state, limit: { ...presentAllowance(allowance), ...(weight === undefined ? {} : { weight }) } }
}
