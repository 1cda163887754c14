/** Many workers as the store sees them: who is told of a topic's head, and who is woken for it. */
import { onTestFinished } from 'vitest'
import type { ClaimReply, Store } from '../../../src/store/contract/store.ts'
import { TOPIC, claim, message } from '../../../src/testing/conformance/stand.ts'
import { QueueKeys, tagOf } from '../../../src/store/redis/scripts/keys.ts'
import type { RedisServer } from './server.ts'
import { freshQueue, storeAt } from './stores.ts'
import { until } from './until.ts'

export const FALLBACK_MS = 5_000
const FENCE = 'fence'

type Asked = {
  readonly topics?: readonly string[]
  readonly limit?: number
  readonly busy?: readonly string[]
  /** Of a topic with a limit, how many it could start at once. */
  readonly free?: number
}

/** One worker as the store sees it: a connection that hears, and claims as a worker does that then sleeps. */
export class Sleeper {
  readonly store: Store
  readonly owner: string
  wakes = 0

  constructor(store: Store, owner: string) {
    this.store = store
    this.owner = owner
  }

  /** So often did it hear of the topic that nobody handles. */
  fences = 0

  async listen(): Promise<this> {
    await claim(this.store, { owner: this.owner, topics: ['a', 'b', TOPIC] })
    await claim(this.store, { owner: 'fence', topics: [FENCE] })
    this.store.onWake(() => (this.wakes += 1), this.owner)
    this.store.onWake(() => (this.fences += 1), 'fence')
    await until('the subscription stands', () => this.wakes > 0)
    return this
  }

  claim({ topics = [TOPIC], limit = 10, busy = [], free = limit }: Asked = {}): Promise<ClaimReply> {
    const sleeper = { fallbackMs: FALLBACK_MS, busy }
    return claim(this.store, { owner: this.owner, topics, limit, free, sleeper })
  }

  /** What it is told of the head: the moment, or nothing. */
  async told(asked: Asked = {}): Promise<number | undefined> {
    const { next } = await this.claim(asked)
    return next.state === 'WAITING' ? Math.round(next.ms) : undefined
  }
}

export class Herd {
  readonly server: RedisServer
  readonly queue = freshQueue()
  now = 1_000_000

  constructor(server: RedisServer) {
    this.server = server
  }

  open(): Store {
    const store = storeAt(this.server.url, this.queue, { now: () => this.now })
    onTestFinished(() => store.close())
    return store
  }

  /** Workers that have come one after the other. */
  async sleepers(count: number): Promise<readonly Sleeper[]> {
    const made = Array.from({ length: count }, (_, i) => new Sleeper(this.open(), `worker${i + 1}`))
    return Promise.all(made.map((sleeper) => sleeper.listen()))
  }
}

export const inMs = (id: string, delayMs: number, topic = TOPIC) => message(id, { topic, when: { delayMs } })

/** Who is woken by the cause. Channels keep the order: when the fence was heard, everything before it was. */
export async function heardBy(
  herd: Herd,
  sleepers: readonly Sleeper[],
  cause: () => Promise<unknown>,
): Promise<readonly string[]> {
  const fence = async (): Promise<void> => {
    const before = sleepers.map(({ fences }) => fences)
    await herd.server.admin(['PUBLISH', new QueueKeys(tagOf(herd.queue)).channel, `\n${FENCE}`])
    await until('all heard the fence', () => sleepers.every(({ fences }, i) => fences > (before[i] ?? 0)))
  }
  await fence()
  const before = sleepers.map(({ wakes }) => wakes)
  await cause()
  await fence()
  return sleepers.filter(({ wakes }, i) => wakes > (before[i] ?? 0)).map(({ owner }) => owner)
}
