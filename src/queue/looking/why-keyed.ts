/** Why a due message with a key has not started, as far as its key goes. */
import type { Store, StoredMessage } from '../../store/contract/store.ts'
import { readKey } from './keys.ts'
import type { Why, WhyAbout } from './why.ts'

const HOLDERS_MAX = 10
/** Those before it in its key are counted no further, in so many pages. */
const BEFORE_MAX = 1_000
const PAGES_MAX = 10

type InKey = { readonly key: string; readonly beforeInKey: number }
type HeldBack = Extract<Why, { kind: 'key-busy' | 'key-rate' | 'key-retry' }>

/** What holds its key back; else where it stands in it; undefined: it has no key. */
export async function whyKeyed(
  store: Store,
  about: WhyAbout,
  found: StoredMessage,
): Promise<HeldBack | InKey | undefined> {
  const { id, topic, key } = found
  const state = key === undefined ? undefined : await readKey(store, topic, key)
  if (key === undefined || state === undefined) return undefined
  const place = { key, beforeInKey: await countBefore(store, found, key) }
  const { held, turnAt, rateAt, running } = state
  if (held !== undefined && held.id !== id)
    return { kind: 'key-retry', ...about, ...place, heldBy: held.id, until: held.dueAt }
  if (turnAt === undefined && running > 0)
    return { kind: 'key-busy', ...about, ...place, running, holders: await holdersOf(store, topic, key) }
  if (rateAt !== undefined) return { kind: 'key-rate', ...about, ...place, until: rateAt }
  return place
}

async function countBefore(
  store: Store,
  { topic, priority, dueAt, id }: StoredMessage,
  key: string,
): Promise<number> {
  const size = Math.min(BEFORE_MAX, store.capabilities.batchMax)
  let [count, cursor]: [number, string | undefined] = [0, undefined]
  for (let pages = 0; pages < PAGES_MAX && count < BEFORE_MAX; pages += 1) {
    const from = cursor === undefined ? {} : { cursor }
    const page = await store.inspect({ state: 'ready', topic, key, limit: size, ...from })
    count += page.items.filter(
      (one) => one.id !== id && (one.priority < priority || (one.priority === priority && one.dueAt < dueAt)),
    ).length
    cursor = page.cursor
    if (cursor === undefined) break
  }
  return Math.min(count, BEFORE_MAX)
}

async function holdersOf(
  store: Store,
  topic: string,
  key: string,
): Promise<{ id: string; owner: string; since: number }[]> {
  const { items } = await store.inspect({ state: 'running', topic, key, limit: HOLDERS_MAX })
  return items.map(({ id, owner, leasedAt }) => ({ id, owner, since: leasedAt }))
}
