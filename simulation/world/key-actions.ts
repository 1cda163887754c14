/** What users do with keys, at random: messages that have one, floods of one, changes by key, limits of all keys and of one. */
import type { KeyAllowance } from '../../src/core/input/limits.ts'
import type { ProduceOptions } from '../../src/core/input/request.ts'
import type { Queue } from '../../src/queue/queue.ts'
import type { Chance } from './chance.ts'
import type { World } from './world.ts'

const PAGE = 3
const WEIGHT_MAX = 4

type ControlKind = 'serial' | 'allowance' | 'with a limit' | 'own' | 'weight' | 'take back' | 'take own back'

const KINDS: Readonly<Record<ControlKind, number>> = {
  serial: 3,
  allowance: 3,
  'with a limit': 1,
  own: 2,
  weight: 3,
  'take back': 2,
  'take own back': 2,
}

export class KeyActions {
  readonly #world: World
  readonly #chance: Chance

  constructor(world: World, chance: Chance) {
    this.#world = world
    this.#chance = chance
  }

  /** Whether messages of this simulation may have a key: the plan wants it, and the store can. */
  get areThere(): boolean {
    const { plan, store } = this.#world
    return plan.keys.names.length > 0 && store.capabilities.features.includes('keys')
  }

  /** For one message: a key, or none. */
  some(): { readonly key?: string } {
    const { share } = this.#world.plan.keys
    return this.areThere && this.#chance.happens(share) ? { key: this.#key() } : {}
  }

  /** Messages of one key, due in the same moment. */
  flood(): ProduceOptions {
    const { plan, partitions } = this.#world
    const delay = this.#chance.happens(0.7) ? 0 : this.#chance.spread(0, plan.stormMs / 4)
    const now = partitions[0]?.time.now() ?? 0
    return {
      ...(this.#chance.happens(0.2) ? { at: Math.max(0, now - this.#chance.whole(0, 100_000)) } : { delay }),
      ...(this.areThere ? { key: this.#key() } : {}),
    }
  }

  async change(queue: Queue, topic: string): Promise<void> {
    if (!this.areThere) return
    const key = this.#key()
    switch (this.#chance.pick(['cancel', 'reschedule', 'revive', 'purge', 'look'] as const)) {
      case 'cancel':
        await queue.cancel({ topic, key, limit: this.#chance.whole(1, 5) })
        return
      case 'reschedule':
        await queue.reschedule({ topic, key, limit: 5 }, { delay: this.#chance.whole(0, 10_000) })
        return
      case 'revive':
        await queue.revive({ topic, key })
        return
      case 'purge':
        await queue.purge({ topic, key, limit: PAGE })
        return
      case 'look':
        await this.#look(queue, topic, key)
    }
  }

  async control(queue: Queue, topic: string): Promise<void> {
    if (!this.areThere) return
    const chance = this.#chance
    const kind = chance.weighted(KINDS)
    const key = this.#key()
    this.#world.history.note('user', () => `keys: ${kind} ${topic} ${key}`)
    switch (kind) {
      case 'serial':
        return queue.limit(topic, { perKey: { concurrency: 1 } })
      case 'allowance':
        return queue.limit(topic, { perKey: this.#allowance() })
      case 'with a limit':
        return queue.limit(topic, { concurrency: chance.whole(1, 5), perKey: this.#allowance() })
      case 'own':
        return queue.limit(topic, this.#allowance(), { key })
      case 'weight':
        return queue.limit(topic, { weight: chance.whole(1, WEIGHT_MAX) }, { key })
      case 'take back':
        return queue.limit(topic, null)
      case 'take own back':
        return queue.limit(topic, null, { key })
    }
  }

  async #look(queue: Queue, topic: string, key: string): Promise<void> {
    await queue.list({ topic, key })
    let cursor: string | undefined
    do {
      const page = await queue.keys(topic, { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) })
      cursor = page.cursor
    } while (cursor !== undefined)
  }

  #allowance(): KeyAllowance {
    const chance = this.#chance
    const concurrency = chance.pick([1, 1, 2, 3])
    if (chance.happens(0.5)) return { concurrency }
    const rate = `${chance.pick([1, 5])}/${chance.pick(['1s', '10s'])}` as const
    return { rate, burst: chance.pick([1, 3]), ...(chance.happens(0.5) ? { concurrency } : {}) }
  }

  #key(): string {
    const { names, flooded } = this.#world.plan.keys
    const [first = 'none'] = names
    return this.#chance.happens(flooded) ? first : (this.#chance.pick(names) ?? first)
  }
}
