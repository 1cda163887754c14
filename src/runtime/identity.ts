/**
 * Who this worker is to the store: the owner of its leases, and the facts that ride on its claims for `workers`. Facts are
 * sent when its topics changed, and when the last ones are old; the number of running handlers is as old as they are.
 */
import { hostname } from 'node:os'
import type { Clock } from '../clock.ts'
import { encodeFacts, ownerName } from '../core/owner.ts'
import { VERSION } from '../core/version.ts'
import type { Random } from '../random.ts'
import type { Lanes } from './runs/lanes.ts'

const FACTS_MS_MAX = 30_000

/** Asked once: it is a system call, and a worker tells it with its facts again and again. */
const HOST = hostname()

/** One worker has one name, in every partition. */
export type OwnerName = { readonly owner: string; readonly startedAt: number }

/** `isRemote`: it speaks for workers elsewhere. */
export function nameOwner(clock: Clock, random: Random, isRemote: boolean): OwnerName {
  const startedAt = clock.now()
  const owner = ownerName({ host: HOST, pid: process.pid, startedAt, chance: random.next(), isRemote })
  return { owner, startedAt }
}

/** What one partition knows of this worker. */
export class Identity {
  readonly owner: string
  readonly #clock: Clock
  readonly #lanes: Lanes
  readonly #startedAt: number
  #toldAt = -Infinity
  #toldTopics = 0

  constructor(clock: Clock, lanes: Lanes, { owner, startedAt }: OwnerName) {
    this.#clock = clock
    this.#lanes = lanes
    this.#startedAt = startedAt
    this.owner = owner
  }

  /** Undefined while the store knows enough. */
  facts(): string | undefined {
    const { users, running, slots, perSecond } = this.#lanes
    const isOld = this.#clock.monotonic() - this.#toldAt >= FACTS_MS_MAX
    if (!isOld && users.length === this.#toldTopics) return undefined
    return encodeFacts({
      version: VERSION,
      host: HOST,
      pid: process.pid,
      startedAt: this.#startedAt,
      topics: users.map(({ topic }) => topic),
      topicCount: users.length,
      running,
      slots,
      ...(perSecond === undefined ? {} : { perSecond: Math.round(perSecond * 100) / 100 }),
    })
  }

  /** The store has them. */
  told(): void {
    this.#toldAt = this.#clock.monotonic()
    this.#toldTopics = this.#lanes.users.length
  }
}
