/** Keys in the calm: what limits of theirs the storm left behind, and what is left of them when all is done (P18). */
import type { Store } from '../../src/store/contract/store.ts'
import type { World } from '../world/world.ts'

/** In place of every limit: one at a time for each key, where the plan wants that, so that what holds one shows. */
export async function liftKeyLimits(world: World, isRecovering: boolean): Promise<void> {
  const { plan, store: shared } = world
  if (plan.keys.names.length === 0 || !shared.capabilities.features.includes('keys')) return
  const store = world.direct()
  for (const topic of plan.topics) {
    for (const { key, limit } of await keysOf(store, topic))
      if (limit !== undefined) await store.control({ kind: 'limit', topic, key, limit: null })
    const perKey = isRecovering && plan.keys.isSerialAfterwards ? { perKey: { concurrency: 1 } } : null
    await store.control({ kind: 'limit', topic, limit: perKey })
  }
}

/** What waits by key, as the recovery must wait for it one after the other. */
export function longestKey({ ledger }: World): number {
  const counts = new Map<string, number>()
  for (const { message, place } of ledger.messages.values()) {
    if (message.key === undefined || place === 'dead') continue
    const name = `${message.topic}\n${message.key}`
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return Math.max(0, ...counts.values())
}

/** P18: nothing waits or runs any more, no key has a limit, and every rate has had the time to recover. */
export async function checkNothingKept(world: World): Promise<void> {
  const { plan, partitions, violations } = world
  for (const { store } of partitions) {
    if (!store.capabilities.features.includes('keys')) continue
    for (const topic of plan.topics)
      for (const { key, rateAt } of await keysOf(store, topic))
        if (rateAt === undefined) violations.add('P18', `the key "${key}" of "${topic}" is kept, and unused`)
  }
}

async function keysOf(
  store: Pick<Store, 'keys' | 'capabilities'>,
  topic: string,
): Promise<Awaited<ReturnType<Store['keys']>>['keys']> {
  const all: Awaited<ReturnType<Store['keys']>>['keys'][number][] = []
  let cursor: string | undefined
  do {
    const rest = cursor === undefined ? {} : { cursor }
    const page = await store.keys({ topic, limit: store.capabilities.batchMax, ...rest })
    all.push(...page.keys)
    cursor = page.cursor
  } while (cursor !== undefined)
  return all
}
